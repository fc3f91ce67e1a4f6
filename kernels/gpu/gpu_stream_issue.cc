// GpuStream: what its thread hands to the driver.
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "kernels/gpu/card_ops.h"
#include "kernels/gpu/gpu_stream.h"
#include "runtime/base/check.h"

namespace berth::kernels::gpu {

void GpuStream::Loop() {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  // The current card of a thread: never another one while this thread lives. A copy that a stream
  // of another card is asked for would be done elsewhere without a word.
  if (const gpuError_t error = gpuSetDevice(card_->ordinal); error != gpuSuccess) {
    (void)card_->Lose(error, Where("its thread"), "SetDevice");
  }
  while (true) {
    const Op* op = nullptr;
    uint64_t entry = 0;
    {
      MutexLock lock(&mutex_);
      while (count_ == 0 && !closing_) work_.Wait(&mutex_);
      if (count_ == 0) return;
      // The entry is issued where it lies: its place is not given away before.
      op = &ring_[head_];
      entry = issued_ + 1;
    }
    Issue(*op, entry);
    const bool notice = std::holds_alternative<NotifyOp>(*op);
    {
      MutexLock lock(&mutex_);
      head_ = (head_ + 1) % ring_.size();
      --count_;
      ++issued_;
      if (notice) ++notice_count_;
    }
    progress_.SignalAll();
    if (notice) card_->completions.Posted();
  }
}

void GpuStream::Issue(const Op& op, uint64_t entry) {
  if (const NotifyOp* notify = std::get_if<NotifyOp>(&op)) return DoNotify(*notify, entry);
  if (const RecordOp* record = std::get_if<RecordOp>(&op)) return DoRecord(*record);
  if (const WaitOp* wait = std::get_if<WaitOp>(&op)) return DoWait(*wait);
  if (Skips()) return;
  Status status = DoWork(op, entry);
  if (status.ok()) return;
  MutexLock lock(&mutex_);
  window_.error = std::move(status);
}

bool GpuStream::Skips() {
  if (Status lost = card_->Lost(); !lost.ok()) {
    MutexLock lock(&mutex_);
    if (window_.error.ok()) window_.error = std::move(lost);
    return true;
  }
  {
    MutexLock lock(&mutex_);
    if (!window_.error.ok()) return true;
    if (window_.run_entry == 0) return false;
  }
  // Whether the run before it missed a unit decides; only then is it known. Rare: a run is followed
  // by a notify.
  const gpuError_t error = gpuStreamSynchronize(stream_);
  Status status = error == gpuSuccess
                      ? Status()
                      : card_->Lose(error, Where("a grouped call"), "StreamSynchronize");
  MutexLock lock(&mutex_);
  if (window_.run_entry != 0) {  // nobody else looked meanwhile
    window_.run_entry = 0;
    const uint32_t missing = TakeWord(window_.word);
    if (status.ok()) status = MissingUnit(missing);
  }
  if (window_.error.ok()) window_.error = std::move(status);
  return !window_.error.ok();
}

Status GpuStream::DoWork(const Op& op, uint64_t entry) {
  if (const CopyOp* copy = std::get_if<CopyOp>(&op)) {
    return card_->copy_by_kernel ? DoCopyByKernel(*copy) : DoCopy(*copy);
  }
  if (const TableUpdate* table = std::get_if<TableUpdate>(&op)) return DoUpdateTable(*table);
  if (const RunOp* run = std::get_if<RunOp>(&op)) return DoRun(*run, entry);
  const ReduceCall& call = std::get<ReduceCall>(op);
  if (call.rows == 0) return Status();
  Status status = LaunchReduce(call, stream_);
  if (status.ok() || status.code() == StatusCode::kInvalidArgument) return status;
  return card_->Lose(status);
}

Status GpuStream::DoCopy(const CopyOp& op) {
  const bool to_card = op.direction == CopyDirection::kToCard;
  const gpuMemcpyKind kind = to_card ? gpuMemcpyHostToDevice : gpuMemcpyDeviceToHost;
  for (uint32_t i = 0; i < op.count; ++i) {
    CopySegment left = op.segments[i];
    while (left.bytes > 0) {
      const size_t piece =
          std::min(left.bytes, card_->host.PieceLeft(to_card ? left.from : left.to));
      if (piece == 0) {
        return InvalidArgumentError(Where("host memory was unregistered before it was copied"));
      }
      const gpuError_t error = gpuMemcpyAsync(left.to, left.from, piece, kind, stream_);
      if (error != gpuSuccess) return card_->Lose(error, Where("a copy"), "MemcpyAsync");
      left.from += piece;
      left.to += piece;
      left.bytes -= piece;
    }
  }
  return Status();
}

Status GpuStream::DoCopyByKernel(const CopyOp& op) {
  const bool to_card = op.direction == CopyDirection::kToCard;
  std::array<CopySegment, kMaxCopySegments> segments = op.segments;
  for (uint32_t i = 0; i < op.count; ++i) {
    CopySegment& segment = segments[i];
    const std::byte* on_host = to_card ? segment.from : segment.to;
    const std::byte* mapped = card_->host.OnCard(on_host, segment.bytes);
    if (mapped == nullptr) {
      return InvalidArgumentError(Where("host memory was unregistered before it was copied"));
    }
    if (to_card) {
      segment.from = mapped;
    } else {
      segment.to = const_cast<std::byte*>(mapped);
    }
  }
  if (op.count == 0) return Status();
  const gpuError_t error = LaunchCopy({segments.data(), op.count}, stream_);
  if (error == gpuSuccess) return Status();
  return card_->Lose(error, Where("a copy"), "LaunchKernel");
}

Status GpuStream::DoUpdateTable(const TableUpdate& op) {
  const UnitTable* table = card_->table.load(std::memory_order_acquire);
  if (table == nullptr) {
    return FailedPreconditionError(Where("a table update before the table was made"));
  }
  for (uint32_t i = 0; i < op.count; ++i) {
    if (op.entries[i].unit >= table->units) {
      return OutOfRangeError(Where("a table update names unit " +
                                   std::to_string(op.entries[i].unit) + " of " +
                                   std::to_string(table->units)));
    }
  }
  if (op.count == 0) return Status();
  const gpuError_t error =
      LaunchTableUpdate(table->entries, {op.entries.data(), op.count}, stream_);
  if (error == gpuSuccess) return Status();
  return card_->Lose(error, Where("a table update"), "LaunchKernel");
}

// What the host can see of a call that the card could not carry out, or would carry out beyond its
// workspace.
Status GpuStream::CheckRun(RunOp* op) const {
  CardCall& call = op->call;
  const UnitTable* table = card_->table.load(std::memory_order_acquire);
  uint32_t last_pair = 0;
  for (uint32_t i = 0; i < call.unit_count; ++i) {
    const WaveUnit& unit = op->units[i];
    if (unit.expert >= call.layer.spec->experts || unit.first_pair > options_.max_pairs ||
        unit.pair_count > options_.max_pairs - unit.first_pair) {
      return InvalidArgumentError(Where("a wave with unit " + std::to_string(unit.unit) +
                                        ", whose expert or pairs are beyond the call's sizes"));
    }
    if (unit.address == nullptr && (table == nullptr || unit.unit >= table->units)) {
      return MissingUnit(unit.unit + 1);
    }
    for (uint32_t p = 0; call.rows == 0 && p < unit.pair_count; ++p) {
      last_pair = std::max(last_pair, op->pairs[unit.first_pair + p]);
    }
  }
  call.table = table == nullptr ? nullptr : table->entries;
  if (call.rows == 0) call.rows = last_pair / std::max(1u, call.top_k) + 1;
  if (call.rows > launcher_.sizes.max_rows) {
    return InvalidArgumentError(Where("a wave with pairs beyond the rows it was made for"));
  }
  return Status();
}

Status GpuStream::DoRun(const RunOp& op, uint64_t entry) {
  if (op.call.unit_count == 0) return Status();
  RunOp checked = op;
  BERTH_RETURN_IF_ERROR(CheckRun(&checked));
  {
    MutexLock lock(&mutex_);
    checked.call.failed_unit = words_on_card_ + window_.word;
  }
  KernelLaunches ran;
  Status status = LaunchExperts(launcher_, checked.call, stream_, &ran);
  card_->Count(ran);
  if (status.ok()) {
    MutexLock lock(&mutex_);
    window_.run_entry = entry;
    return status;
  }
  if (status.code() == StatusCode::kInvalidArgument) {
    return Status(status.code(), Where(status.message()));
  }
  return card_->Lose(status);
}

void GpuStream::DoRecord(const RecordOp& op) {
  bool lost = !card_->Lost().ok();
  if (!lost) {
    const gpuError_t error = gpuEventRecord(op.point->event, stream_);
    lost = error != gpuSuccess;
    if (lost) (void)card_->Lose(error, Where("an event"), "EventRecord");
  }
  op.point->pool->MarkIssued(op.point, lost);
  op.point->pool->Release(op.point);
}

void GpuStream::DoWait(const WaitOp& op) {
  if (op.point == nullptr) return;
  // The stream that records it may be behind this one in handing over.
  if (op.point->pool->AwaitIssued(op.point) && card_->Lost().ok()) {
    const gpuError_t error = gpuStreamWaitEvent(stream_, op.point->event, 0);
    if (error != gpuSuccess) (void)card_->Lose(error, Where("a wait"), "StreamWaitEvent");
  }
  op.point->pool->Release(op.point);
}

void GpuStream::DoNotify(const NotifyOp& op, uint64_t entry) {
  Notice notice;
  notice.token = op.token;
  notice.entry = entry;
  if (card_->Lost().ok()) {
    Result<EventPoint*> point = card_->events.Take();
    if (point.ok()) {
      notice.point = *point;
      const gpuError_t error = gpuEventRecord(notice.point->event, stream_);
      if (error != gpuSuccess) (void)card_->Lose(error, Where("a notify"), "EventRecord");
    } else {
      (void)card_->Lose(point.status());
    }
  }
  MutexLock lock(&mutex_);
  notice.error = std::exchange(window_.error, Status());
  notice.ran = window_.run_entry != 0;
  notice.word = window_.word;
  if (notice.ran) {
    window_.run_entry = 0;
    window_.word = (window_.word + 1) % (options_.capacity + 1);
  }
  notices_[(first_notice_ + notice_count_) % notices_.size()] = std::move(notice);
  // It is counted, and so seen, when the entry has left the queue.
}

}  // namespace berth::kernels::gpu
