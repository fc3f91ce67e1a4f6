// The ladder: from the best way to read that the machine allows down to the plainest, each rung
// proved by a real read. One rung serves all files: the worst file decides and is named.
#include <array>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "io/storage.h"
#include "io/storage/file_set.h"
#include "io/storage/pread_storage.h"
#include "io/storage/probe.h"
#include "io/storage/system.h"
#include "io/storage/uring_storage.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

constexpr uint32_t kQueueDepthMax = 4096;
constexpr uint32_t kOutstandingMax = 1u << 20;

struct Engine {
  std::string_view name;
  Rung first;   // where the walk starts
  Rung strict;  // the last rung that still is what the name asks for
};
constexpr std::array<Engine, 4> kEngines = {{
    {"auto", Rung::kUringRegistered, Rung::kUringRegistered},
    {"uring", Rung::kUringRegistered, Rung::kUring},
    {"pread", Rung::kPreadDirect, Rung::kPreadDirect},
    {"buffered", Rung::kPreadBuffered, Rung::kPreadBuffered},
}};

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

Result<Engine> FindEngine(std::string_view name) {
  std::array<std::string_view, kEngines.size()> names;
  for (size_t i = 0; i < kEngines.size(); ++i) {
    if (kEngines[i].name == name) return kEngines[i];
    names[i] = kEngines[i].name;
  }
  return InvalidArgumentError(absl::StrCat("unknown storage engine '", View(name), "'",
                                           DidYouMean(name, names), ": give auto, uring, pread",
                                           " or buffered"));
}

Status CheckOptions(const StorageOptions& options) {
  if (options.sink == nullptr) return InvalidArgumentError("storage without a sink for results");
  if (options.paths.empty()) return InvalidArgumentError("storage without files");
  if (options.queue_depth == 0 || options.queue_depth > kQueueDepthMax) {
    return InvalidArgumentError(
        absl::StrCat("storage queue depth ", options.queue_depth, ": give 1 to ", kQueueDepthMax));
  }
  if (options.max_outstanding == 0 || options.max_outstanding > kOutstandingMax) {
    return InvalidArgumentError(absl::StrCat("storage with ", options.max_outstanding,
                                             " outstanding reads: give 1 to ", kOutstandingMax));
  }
  for (const BufferRegion& buffer : options.buffers) {
    if (reinterpret_cast<uintptr_t>(buffer.begin) % kIoAlign != 0) {
      return InvalidArgumentError("a storage buffer that does not start at a multiple of 4096");
    }
  }
  uint64_t bytes = 0;
  for (const std::string& path : options.paths) {
    BERTH_RETURN_IF_ERROR(CheckRegularFile(path, &bytes));
  }
  return Status();
}

bool IsDirect(Rung rung) { return rung != Rung::kPreadBuffered; }

// Whether another rung could do better with a file that did not open.
bool IsRefusalOfDirect(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kUnavailable;
}

Result<std::unique_ptr<Storage>> OpenPread(const StorageOptions& options, StorageInfo info,
                                           FileSet files, StorageSystem* system) {
  BERTH_RETURN_IF_ERROR(ProbeReads(
      files, options.buffers, [&](uint32_t file, const ReadProgress::Range& range) -> int64_t {
        return system->Pread(files.fd(file), range.destination, range.length, range.offset);
      }));
  return NewPreadStorage(options, std::move(info), std::move(files), system);
}

Result<std::unique_ptr<Storage>> OpenRung(const StorageOptions& options, StorageInfo info,
                                          FileSet files, StorageSystem* system) {
  if (info.rung == Rung::kUringRegistered || info.rung == Rung::kUring) {
    return NewUringStorage(options, std::move(info), &files, system);
  }
  return OpenPread(options, std::move(info), std::move(files), system);
}

}  // namespace

std::string_view RungName(Rung rung) {
  switch (rung) {
    case Rung::kUringRegistered:
      return "io_uring+registered";
    case Rung::kUring:
      return "io_uring";
    case Rung::kPreadDirect:
      return "pread";
    case Rung::kPreadBuffered:
      return "buffered";
    case Rung::kMemory:
      return "memory";
  }
  return "unknown";
}

Result<std::unique_ptr<Storage>> OpenStorageOn(const StorageOptions& options,
                                               StorageSystem* system) {
  BERTH_ASSIGN_OR_RETURN(const Engine engine, FindEngine(options.engine));
  BERTH_RETURN_IF_ERROR(CheckOptions(options));
  std::string reason;
  for (int step = static_cast<int>(engine.first); step <= static_cast<int>(Rung::kPreadBuffered);
       ++step) {
    const Rung rung = static_cast<Rung>(step);
    if (options.strict && rung > engine.strict) break;
    Result<FileSet> files = FileSet::Open(options.paths, IsDirect(rung), system);
    if (!files.ok() && !IsRefusalOfDirect(files.status())) return files.status();
    Result<std::unique_ptr<Storage>> storage =
        files.ok() ? OpenRung(options, {rung, reason}, std::move(*files), system)
                   : Result<std::unique_ptr<Storage>>(files.status());
    if (storage.ok()) return storage;
    absl::StrAppend(&reason, reason.empty() ? "" : "; ", View(RungName(rung)), ": ",
                    View(storage.status().message()));
  }
  return UnavailableError(absl::StrCat("no way to read the model that was asked for works",
                                       options.strict ? " (strict: no step down)" : "", ": ",
                                       reason));
}

Result<std::unique_ptr<Storage>> OpenStorage(const StorageOptions& options) {
  static StorageSystem* const system = new StorageSystem;  // never destroyed: storages point to it
  return OpenStorageOn(options, system);
}

}  // namespace berth::io
