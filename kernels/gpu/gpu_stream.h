// GpuStream: a stream of a card: a bounded queue, a thread that hands its entries to the driver,
// and the driver's stream.
//
//   caller -> queue -> issuing thread -> driver's stream -> completion thread -> sink
//
// A call of the driver may block, or take as long as a copy; callers do not wait for it. An entry
// leaves the queue when it has been handed over; the driver keeps the order from there on.
#ifndef BERTH_KERNELS_GPU_GPU_STREAM_H_
#define BERTH_KERNELS_GPU_GPU_STREAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "kernels/device.h"
#include "kernels/gpu/event_pool.h"
#include "kernels/gpu/expert_launch.h"
#include "kernels/gpu/gpu_card.h"
#include "kernels/stream_entry.h"
#include "runtime/base/mutex.h"

namespace berth::kernels::gpu {

class GpuStream final : public Stream, private CompletionThread::Client {
 public:
  static Result<std::unique_ptr<Stream>> Create(GpuCard* card, const StreamOptions& options);
  ~GpuStream() override;

  Status Copy(CopyDirection direction, std::span<const CopySegment> segments) override;
  Status UpdateTable(std::span<const TableEntry> entries) override;
  Status Run(const GroupedCall& call) override;
  Status Reduce(const ReduceCall& call) override;
  Status Record(Event* event) override;
  Status Wait(Event* event) override;
  Status Notify(uint64_t token) override;
  Status Synchronize() override;

 private:
  struct CopyOp {
    CopyDirection direction;
    uint32_t count;
    std::array<CopySegment, kMaxCopySegments> segments;
  };
  struct RunOp {
    CardCall call;  // all pointers the card's
    // The host's view of what it must look at before it launches.
    const WaveUnit* units;
    const uint32_t* pairs;
  };
  struct RecordOp {
    EventPoint* point;
  };
  struct WaitOp {
    EventPoint* point;  // null: nothing to wait for
  };
  struct NotifyOp {
    uint64_t token;
  };
  using Op = std::variant<RecordOp, CopyOp, TableUpdate, RunOp, ReduceCall, WaitOp, NotifyOp>;

  // What has been issued since the last Notify.
  struct Window {
    Status error;            // the first
    uint64_t run_entry = 0;  // the last run that nobody has looked after yet; 0: none
    uint32_t word = 0;       // where runs say which unit they missed
  };
  // A notify that the driver knows of and the sink does not.
  struct Notice {
    uint64_t token = 0;
    uint64_t entry = 0;
    EventPoint* point = nullptr;  // null: of a lost card
    Status error;
    bool ran = false;
    uint32_t word = 0;
  };

  GpuStream(GpuCard* card, const StreamOptions& options);
  Status Open();

  // gpu_stream.cc: what callers do.
  Result<uint64_t> Enqueue(const Op& op) BERTH_EXCLUDES(mutex_);
  Status EnqueueOnly(const Op& op) { return Enqueue(op).status(); }
  // The card's address of memory that it reaches, or null.
  const void* OnCard(const void* begin, uint64_t bytes) const;
  Status TakeError(uint64_t last) BERTH_REQUIRES(mutex_);
  bool DeliverOldest() override;
  std::string Where(std::string_view what) const;

  // gpu_stream_issue.cc: what the stream's thread does.
  void Loop();
  void Issue(const Op& op, uint64_t entry);
  // Looks after a run that was not asked about; whether work is to be skipped.
  bool Skips() BERTH_EXCLUDES(mutex_);
  Status DoWork(const Op& op, uint64_t entry);
  Status DoCopy(const CopyOp& op);
  Status DoCopyByKernel(const CopyOp& op);
  Status DoUpdateTable(const TableUpdate& op);
  Status DoRun(const RunOp& op, uint64_t entry);
  Status CheckRun(RunOp* op) const;
  void DoRecord(const RecordOp& op);
  void DoWait(const WaitOp& op);
  void DoNotify(const NotifyOp& op, uint64_t entry);
  // Words are set by the card and cleared by us.
  uint32_t TakeWord(uint32_t word);
  Status MissingUnit(uint32_t word_value) const;

  GpuCard* const card_;
  const StreamOptions options_;
  gpuStream_t stream_ = nullptr;
  std::unique_ptr<DeviceMemory> workspace_;  // null where the sizes are 0
  ExpertLauncher launcher_;
  uint32_t* words_ = nullptr;          // capacity + 1, in mapped host memory
  uint32_t* words_on_card_ = nullptr;  // the same
  uint64_t workspace_bytes_ = 0;

  Mutex mutex_;
  CondVar work_;
  CondVar progress_;                               // something was issued or delivered
  std::vector<Op> ring_ BERTH_GUARDED_BY(mutex_);  // capacity places
  uint32_t head_ BERTH_GUARDED_BY(mutex_) = 0;     // the entry that is being issued, or the next
  uint32_t count_ BERTH_GUARDED_BY(mutex_) = 0;
  uint64_t enqueued_ BERTH_GUARDED_BY(mutex_) = 0;  // entries so far
  uint64_t issued_ BERTH_GUARDED_BY(mutex_) = 0;
  std::vector<Notice> notices_ BERTH_GUARDED_BY(mutex_);  // capacity places
  uint32_t first_notice_ BERTH_GUARDED_BY(mutex_) = 0;
  uint32_t notice_count_ BERTH_GUARDED_BY(mutex_) = 0;
  bool delivering_ BERTH_GUARDED_BY(mutex_) = false;  // the sink is being called
  uint64_t delivering_entry_ BERTH_GUARDED_BY(mutex_) = 0;
  Window window_ BERTH_GUARDED_BY(mutex_);
  bool closing_ BERTH_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_GPU_STREAM_H_
