// ChecksumWorker: proves units against the model's checksums on a thread of its own, so that the
// thread that reads goes on reading meanwhile. Exists only where the model has checksums.
#ifndef BERTH_RUNTIME_ENGINE_CHECKSUM_WORKER_H_
#define BERTH_RUNTIME_ENGINE_CHECKSUM_WORKER_H_

#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/catalog/catalog.h"
#include "runtime/engine/host_layout.h"

namespace berth {

// A unit whose bytes have all arrived.
struct ArrivedUnit {
  UnitIndex unit = kNoUnit;
  scheduler::HostSlot slot;
  scheduler::OpId op = 0;
  uint32_t extent = 0;  // the last to arrive, which is answered after the proof
};

class ChecksumSink {
 public:
  virtual void UnitProved(const ArrivedUnit& unit, const Status& status) = 0;

 protected:
  ~ChecksumSink() = default;
};

class ChecksumWorker {
 public:
  // `capacity`: most units handed over and not yet proved.
  ChecksumWorker(const Catalog* catalog, const HostLayout* layout, uint32_t capacity,
                 ChecksumSink* sink);
  ~ChecksumWorker();  // proves what it was handed, then ends
  void Hand(const ArrivedUnit& unit);

 private:
  void Loop();
  Status Prove(const ArrivedUnit& unit) const;

  const Catalog* catalog_;
  const HostLayout* layout_;
  ChecksumSink* sink_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<ArrivedUnit> ring_ BERTH_GUARDED_BY(mutex_);
  size_t first_ BERTH_GUARDED_BY(mutex_) = 0;
  size_t count_ BERTH_GUARDED_BY(mutex_) = 0;
  bool stopping_ BERTH_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_CHECKSUM_WORKER_H_
