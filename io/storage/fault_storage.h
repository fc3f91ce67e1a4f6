// FaultStorage: a storage over another one in which what a FaultPlan says goes wrong. It keeps
// every promise of Storage, "exactly once" above all.
//
//   Submit -> [fault thread: errors, short reads] -> inner storage -> [flips, rate, delay] -> held
//   back -> sink
#ifndef BERTH_IO_STORAGE_FAULT_STORAGE_H_
#define BERTH_IO_STORAGE_FAULT_STORAGE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "berth/status.h"
#include "io/storage.h"
#include "io/storage/fault_plan.h"
#include "io/storage/read_progress.h"
#include "io/storage/read_queue.h"
#include "runtime/base/mutex.h"

namespace berth::io {

using StorageOpener = std::function<Result<std::unique_ptr<Storage>>(const StorageOptions&)>;

class FaultStorage final : public Storage, private ReadSink {
 public:
  // Opens the inner storage with `opener`, which gets `options` with another sink.
  static Result<std::unique_ptr<FaultStorage>> Open(FaultPlan plan, const StorageOptions& options,
                                                    const StorageOpener& opener = OpenStorage);
  ~FaultStorage() override;

  const StorageInfo& info() const override { return inner_->info(); }
  uint64_t file_bytes(uint32_t file) const override { return inner_->file_bytes(file); }
  void Submit(std::span<const ReadRequest> reads) override;
  void Close() override;
  StorageStats stats() const override { return queue_.stats(); }

  // How many reads met each fault so far, by Fault.
  std::array<uint64_t, kFaultKinds> counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { kFree, kInner, kRetry, kDelayed, kHeld };
  static constexpr uint32_t kAlways = ~uint32_t{0};
  struct Op {
    ReadProgress progress;
    State state = State::kFree;
    uint64_t hash = 0;       // of seed, place and visit: source of all chance for this read
    uint32_t io_errors = 0;  // still to come
    uint32_t busy = 0;
    uint32_t short_reads = 0;
    bool end_of_file = false;
    bool flip = false;
    uint32_t cut = 0;  // bytes hidden from what the inner storage brings
    uint32_t inner_retries = 0;
    uint64_t inner_retried_bytes = 0;
    Status inner_status;
    Clock::time_point due;
  };

  FaultStorage(FaultPlan plan, const StorageOptions& options);
  void ReadCompleted(const ReadResult& result) override;  // of the inner storage

  void Serve();
  void Signal();
  void WaitForEvent(uint64_t seen);
  uint64_t events() const;
  void TakeNew();
  void TakeArrived();
  void RunTimers();
  void ReleaseHeld();
  bool Busy() const;

  void Begin(const ReadRequest& read);
  void Script(Op* op);
  void Meet(Op* op, Fault fault);
  void Attempt(uint32_t index);
  void Advance(uint32_t index, int64_t result);
  void Finish(uint32_t index);
  void Deliver(uint32_t index);
  void Flip(const Op& op);

  FaultPlan plan_;
  const std::vector<std::string> paths_;  // for messages
  std::unique_ptr<Storage> inner_;
  ReadQueue queue_;
  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t events_ BERTH_GUARDED_BY(mutex_) = 0;
  std::vector<ReadResult> arrived_ BERTH_GUARDED_BY(mutex_);
  std::array<uint64_t, kFaultKinds> counts_ BERTH_GUARDED_BY(mutex_) = {};

  // Of the fault thread alone.
  std::vector<Op> ops_;
  std::vector<uint32_t> held_;
  std::vector<uint32_t> range_hits_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> visits_;
  std::mt19937_64 order_;
  Clock::time_point drive_free_;

  Mutex close_mutex_;
  std::thread thread_;
};

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_FAULT_STORAGE_H_
