// RingEngine: how a ring comes up. What fails here is a reason to step down, not a failure.
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/storage/probe.h"
#include "io/storage/ring_engine.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::io {

Status RingEngine::Open(const FileSet& files, StorageSystem* system) {
  // One entry more for the wake-up, one for the timeout that old kernels take as an entry.
  BERTH_ASSIGN_OR_RETURN(ring_, system->NewRing(setup_.queue_depth + 2));
  if (setup_.registered) BERTH_RETURN_IF_ERROR(RegisterBuffers(system));
  // Saves the kernel a look-up per read; where it is refused, descriptors do as well.
  files_registered_ = ring_->RegisterFiles(files.fds()) == 0;
  files_ = &files;
  return Probe(files);
}

Status RingEngine::RegisterBuffers(StorageSystem* system) {
  table_ = BufferTable(setup_.buffers);
  if (table_.chunks().empty()) return FailedPreconditionError("no buffers were given to register");
  if (table_.chunks().size() > BufferTable::kChunksMax) {
    return ResourceExhaustedError(absl::StrCat(table_.chunks().size(), " buffers of at most 1 GiB,",
                                               " but a ring registers at most ",
                                               BufferTable::kChunksMax));
  }
  const int error = ring_->RegisterBuffers(table_.chunks());
  if (error == 0) return Status();
  std::string why = absl::StrCat("registering ", FormatBytes(table_.bytes()),
                                 " of buffers: ", std::strerror(-error));
  if (error == -ENOMEM || error == -EPERM) {
    absl::StrAppend(&why, " (memlock limit ", FormatBytes(system->MemlockLimit()),
                    ": raise `ulimit -l` to ", (table_.bytes() + (1u << 20)) / 1024,
                    " KiB or more)");
  }
  return ResourceExhaustedError(std::move(why));
}

Status RingEngine::Probe(const FileSet& files) {
  constexpr uint64_t kProbe = 1;
  return ProbeReads(files, setup_.buffers,
                    [this, &files](uint32_t file, const ReadProgress::Range& range) -> int64_t {
                      RingRead read = {
                          .file = files_registered_ ? static_cast<int>(file) : files.fd(file),
                          .file_is_index = files_registered_,
                          .offset = range.offset,
                          .length = range.length,
                          .destination = range.destination,
                          .user_data = kProbe,
                      };
                      if (setup_.registered) {
                        read.buffer = table_.Find(range.destination, range.length);
                      }
                      return ReadAlone(read);
                    });
}

// Submits one read and waits for it; nothing else may be under way. An error before the kernel has
// taken the read is an error of the probe, and the ring is not used again.
int64_t RingEngine::ReadAlone(const RingRead& read) {
  BERTH_CHECK(ring_->Prepare(read));
  RingCompletion completion;
  for (;;) {
    const int error = ring_->Submit(std::nullopt);
    if (ring_->Reap({&completion, 1}) == 1) return completion.result;
    if (error < 0 && error != -EINTR && ring_->Unsubmitted() > 0) return -EOPNOTSUPP;
  }
}

}  // namespace berth::io
