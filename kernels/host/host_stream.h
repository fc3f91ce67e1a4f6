// HostStream: a stream of the host backend, which is a thread with a bounded queue before it.
#ifndef BERTH_KERNELS_HOST_HOST_STREAM_H_
#define BERTH_KERNELS_HOST_HOST_STREAM_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "kernels/device.h"
#include "kernels/expert/host_expert.h"
#include "kernels/host/card_memory.h"
#include "kernels/host/host_event.h"
#include "kernels/host/link_pacer.h"
#include "kernels/host/pointer_table.h"
#include "kernels/host/worker_pool.h"
#include "kernels/stream_entry.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {

// What the streams of one card share. Outlives them.
struct HostCard {
  HostCard(std::string card, uint64_t memory_bytes, bool poison, double link_bytes_per_s,
           std::shared_ptr<WorkerPool> workers, const HostMath& host_math)
      : name(card),
        memory(card, memory_bytes, poison),
        link(link_bytes_per_s),
        pool(std::move(workers)),
        math(host_math) {}

  const std::string name;
  CardMemory memory;
  LinkPacer link;
  const std::shared_ptr<WorkerPool> pool;
  const HostMath math;
  std::atomic<PointerTable*> table = nullptr;  // owned by the device; null until CreateTable
  std::atomic<uint64_t> workspace_bytes = 0;
  std::atomic<uint32_t> streams = 0;
};

class HostStream final : public Stream {
 public:
  static Result<std::unique_ptr<Stream>> Create(HostCard* card, const StreamOptions& options);
  ~HostStream() override;

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
    LinkPacer::Clock::time_point enqueued;
  };
  struct RecordOp {};  // being done is all there is to it
  struct WaitOp {
    StreamPlace place;
  };
  struct NotifyOp {
    uint64_t token;
  };
  using Op = std::variant<RecordOp, CopyOp, TableUpdate, GroupedCall, ReduceCall, WaitOp, NotifyOp>;

  HostStream(HostCard* card, const StreamOptions& options);
  void Start();

  // The number of the new entry.
  Result<uint64_t> Enqueue(Op op) BERTH_EXCLUDES(mutex_);
  Status EnqueueOnly(Op op) { return Enqueue(std::move(op)).status(); }

  // On the stream's thread.
  void Loop();
  void Done(const Op& op, bool skip);
  Status Guarded(const Op& op);
  Status DoWork(const Op& op);
  Status DoCopy(const CopyOp& op);
  Status DoUpdateTable(const TableUpdate& op);
  Status DoRun(const GroupedCall& call);
  void DoNotify(uint64_t token);
  void DoWait(const WaitOp& op);
  void FreePlace() BERTH_EXCLUDES(mutex_);
  Status TakeError() BERTH_EXCLUDES(mutex_);

  std::string Where(std::string_view what) const;

  HostCard* const card_;
  const StreamOptions options_;
  const std::shared_ptr<StreamProgress> progress_ = std::make_shared<StreamProgress>();
  // Of the stream's thread.
  PacedStream pace_;
  std::unique_ptr<HostExpertWorkspace> workspace_;  // null where the sizes are 0
  std::vector<const std::byte*> addresses_;         // max_pairs of them
  uint64_t workspace_bytes_ = 0;

  Mutex mutex_;
  CondVar work_;
  std::vector<Op> ring_ BERTH_GUARDED_BY(mutex_);  // capacity places
  uint32_t head_ BERTH_GUARDED_BY(mutex_) = 0;     // the entry that is being done, or the next
  uint32_t count_ BERTH_GUARDED_BY(mutex_) = 0;
  uint64_t enqueued_ BERTH_GUARDED_BY(mutex_) = 0;  // entries so far
  Status error_ BERTH_GUARDED_BY(mutex_);
  bool closing_ BERTH_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_HOST_STREAM_H_
