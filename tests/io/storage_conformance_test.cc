#include "tests/io/storage_conformance.h"

#include "io/storage/fault_storage.h"
#include "io/storage/memory_storage.h"

namespace berth::io {
namespace {

// Files in a temporary folder, opened at one rung or not at all.
class DiskWorld : public StorageWorld {
 public:
  DiskWorld(std::string engine, Rung rung) : engine_(std::move(engine)), rung_(rung) {}

  Result<std::unique_ptr<Storage>> Open(const std::vector<std::vector<std::byte>>& files,
                                        StorageOptions options) override {
    for (size_t i = 0; i < files.size(); ++i) {
      options.paths.push_back(dir_.Write("file" + std::to_string(i), files[i]));
    }
    paths_ = options.paths;
    options.engine = engine_;
    if (rung_ == Rung::kUring) options.buffers.clear();  // nothing to register
    auto storage = OpenStorage(options);
    if (storage.ok() && (*storage)->info().rung != rung_) {
      return FailedPreconditionError((*storage)->info().reason);
    }
    return storage;
  }

  void Truncate(uint32_t file, uint64_t bytes) override {
    std::filesystem::resize_file(paths_[file], bytes);
  }

 private:
  const std::string engine_;
  const Rung rung_;
  TempDir dir_;
  std::vector<std::string> paths_;
};

class MemoryWorld : public StorageWorld {
 public:
  Result<std::unique_ptr<Storage>> Open(const std::vector<std::vector<std::byte>>& files,
                                        StorageOptions options) override {
    auto storage = std::make_unique<MemoryStorage>(MemoryStorageOptions{
        .files = files, .max_outstanding = options.max_outstanding, .sink = options.sink});
    storage_ = storage.get();
    return std::unique_ptr<Storage>(std::move(storage));
  }
  void Truncate(uint32_t file, uint64_t bytes) override { storage_->Truncate(file, bytes); }

 private:
  MemoryStorage* storage_ = nullptr;
};

// Memory behind a layer that delays, reorders, cuts reads short and lets tries fail, but nothing
// that a caller would see as an error.
class FaultWorld : public StorageWorld {
 public:
  Result<std::unique_ptr<Storage>> Open(const std::vector<std::vector<std::byte>>& files,
                                        StorageOptions options) override {
    FaultPlan plan{.seed = 11, .delay_us_max = 300, .hold_back = 5};
    plan.rate(Fault::kShortRead) = 0.3;
    plan.rate(Fault::kBusyRecovers) = 0.2;
    plan.rate(Fault::kIoErrorRecovers) = 0.2;
    BERTH_ASSIGN_OR_RETURN(auto storage, FaultStorage::Open(plan, options, [&](auto inner) {
                             return memory_.Open(files, inner);
                           }));
    return std::unique_ptr<Storage>(std::move(storage));
  }
  void Truncate(uint32_t file, uint64_t bytes) override { memory_.Truncate(file, bytes); }

 private:
  MemoryWorld memory_;
};

StorageCase Disk(std::string name, std::string engine, Rung rung) {
  return {std::move(name),
          [engine = std::move(engine), rung] { return std::make_unique<DiskWorld>(engine, rung); }};
}

INSTANTIATE_TEST_SUITE_P(
    Storages, StorageConformance,
    ::testing::Values(Disk("UringRegistered", "auto", Rung::kUringRegistered),
                      Disk("Uring", "uring", Rung::kUring),
                      Disk("PreadDirect", "pread", Rung::kPreadDirect),
                      Disk("PreadBuffered", "buffered", Rung::kPreadBuffered),
                      StorageCase{"Memory", [] { return std::make_unique<MemoryWorld>(); }},
                      StorageCase{"FaultOverMemory",
                                  [] { return std::make_unique<FaultWorld>(); }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace berth::io
