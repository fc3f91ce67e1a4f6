#include "runtime/engine/checksum_worker.h"

#include "absl/strings/str_format.h"
#include "runtime/base/check.h"

namespace berth {

ChecksumWorker::ChecksumWorker(const Catalog* catalog, const HostLayout* layout, uint32_t capacity,
                               ChecksumSink* sink)
    : catalog_(catalog), layout_(layout), sink_(sink), ring_(capacity) {
  thread_ = std::thread([this] { Loop(); });
}

ChecksumWorker::~ChecksumWorker() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  thread_.join();
}

void ChecksumWorker::Hand(const ArrivedUnit& unit) {
  {
    MutexLock lock(&mutex_);
    BERTH_CHECK_MSG(count_ < ring_.size(), "more units arrived than reads are under way");
    ring_[(first_ + count_++) % ring_.size()] = unit;
  }
  changed_.Signal();
}

void ChecksumWorker::Loop() {
  for (;;) {
    ArrivedUnit unit;
    {
      MutexLock lock(&mutex_);
      while (count_ == 0 && !stopping_) changed_.Wait(&mutex_);
      if (count_ == 0) return;
      unit = ring_[first_];
      first_ = (first_ + 1) % ring_.size();
      --count_;
    }
    sink_->UnitProved(unit, Prove(unit));
  }
}

Status ChecksumWorker::Prove(const ArrivedUnit& unit) const {
  const uint64_t found = layout_->Checksum(unit.unit, unit.slot);
  const uint64_t expected = catalog_->checksum(unit.unit);
  if (found == expected) return Status();
  const Extent& extent = catalog_->extents(unit.unit)[0];
  return DataLossError(absl::StrFormat(
      "%s: checksum %016x instead of %016x (from offset %u of %s): the file is damaged, run berth "
      "verify",
      catalog_->Describe(unit.unit), found, expected, extent.offset,
      catalog_->files()[extent.file].path));
}

}  // namespace berth
