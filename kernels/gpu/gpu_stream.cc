// GpuStream: what callers and the completion thread do.
#include "kernels/gpu/gpu_stream.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "kernels/gpu/expert_args.h"
#include "kernels/gpu/gpu_status.h"
#include "kernels/gpu/stream_sizes.h"
#include "runtime/base/check.h"

namespace berth::kernels::gpu {

GpuStream::GpuStream(GpuCard* card, const StreamOptions& options) : card_(card), options_(options) {
  ring_.resize(options.capacity);
  notices_.resize(options.capacity);
  ++card_->streams;
}

Result<std::unique_ptr<Stream>> GpuStream::Create(GpuCard* card, const StreamOptions& options) {
  const std::string what = "card " + card->name + ", stream " + options.name;
  if (options.capacity == 0) return InvalidArgumentError(what + ": a capacity of 0 entries");
  const int sizes = (options.max_hidden > 0) + (options.max_ffn > 0) + (options.max_pairs > 0);
  if (sizes != 0 && sizes != 3) {
    return InvalidArgumentError(what + ": max_hidden, max_ffn and max_pairs are all 0 or all not");
  }
  BERTH_RETURN_IF_ERROR(card->Lost());
  try {
    std::unique_ptr<GpuStream> stream(new GpuStream(card, options));
    BERTH_RETURN_IF_ERROR(stream->Open());
    return std::unique_ptr<Stream>(std::move(stream));
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError(what + ": no memory for its queue; lower max_rows");
  } catch (const std::system_error& error) {
    return ResourceExhaustedError(what + ": no thread for it: " + error.what());
  }
}

Status GpuStream::Open() {
  const ScopedCard card(card_->ordinal);
  BERTH_RETURN_IF_ERROR(GpuStatus(card.error(), Where("opening"), "SetDevice"));
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuStreamCreateWithFlags(&stream_, gpuStreamNonBlocking),
                                  Where("opening"), "StreamCreateWithFlags"));
  workspace_bytes_ = options_.capacity * (sizeof(Op) + sizeof(Notice));
  if (options_.max_pairs > 0) {
    launcher_.sizes = SizesOf(options_);
    launcher_.arithmetic = card_->arithmetic;
    launcher_.processors = card_->processors;
    const uint64_t bytes = ExpertWorkspaceBytes(launcher_.sizes);
    BERTH_ASSIGN_OR_RETURN(workspace_,
                           card_->memory.Allocate(bytes, "workspace of " + options_.name));
    launcher_.workspace = workspace_->data();
    BERTH_RETURN_IF_ERROR(
        GpuStatus(gpuMemset(launcher_.workspace, 0, bytes), Where("opening"), "Memset"));
    const size_t words = (options_.capacity + size_t{1}) * sizeof(uint32_t);
    void* memory = nullptr;
    BERTH_RETURN_IF_ERROR(
        GpuStatus(gpuHostAlloc(&memory, words, gpuHostAllocPortable | gpuHostAllocMapped),
                  Where("opening"), "HostAlloc"));
    words_ = static_cast<uint32_t*>(memory);
    std::memset(words_, 0, words);
    void* on_card = nullptr;
    BERTH_RETURN_IF_ERROR(GpuStatus(gpuHostGetDevicePointer(&on_card, words_, 0), Where("opening"),
                                    "HostGetDevicePointer"));
    words_on_card_ = static_cast<uint32_t*>(on_card);
    workspace_bytes_ += bytes + words;
  }
  // What was cleared on the default stream is cleared before work of this one.
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuDeviceSynchronize(), Where("opening"), "DeviceSynchronize"));
  card_->workspace_bytes += workspace_bytes_;
  card_->completions.Add(this);
  thread_ = std::thread([this] { Loop(); });
  return Status();
}

GpuStream::~GpuStream() {
  BERTH_CHECK_MSG(!card_->completions.IsThisThread() || !thread_.joinable(),
                  "a stream is destroyed by a sink");
  if (thread_.joinable()) {
    {
      MutexLock lock(&mutex_);
      closing_ = true;
    }
    work_.Signal();
    thread_.join();
    {
      MutexLock lock(&mutex_);
      while (notice_count_ > 0 || delivering_) progress_.Wait(&mutex_);
    }
    card_->completions.Remove(this);
    card_->workspace_bytes -= workspace_bytes_;
  }
  const ScopedCard card(card_->ordinal);
  // Of a lost card these fail one and all.
  if (stream_ != nullptr) {
    if (gpuStreamSynchronize(stream_) != gpuSuccess) (void)gpuGetLastError();
    if (gpuStreamDestroy(stream_) != gpuSuccess) (void)gpuGetLastError();
  }
  if (words_ != nullptr && gpuFreeHost(words_) != gpuSuccess) (void)gpuGetLastError();
  --card_->streams;
}

std::string GpuStream::Where(std::string_view what) const {
  std::string text = "card " + card_->name + ", stream " + options_.name + ": ";
  return text.append(what);
}

Result<uint64_t> GpuStream::Enqueue(const Op& op) {
  BERTH_RETURN_IF_ERROR(card_->Lost());
  uint64_t entry = 0;
  {
    MutexLock lock(&mutex_);
    if (count_ + notice_count_ >= ring_.size()) {
      return ResourceExhaustedError(Where("its queue of " + std::to_string(ring_.size()) +
                                          " entries is full: raise the stream's capacity"));
    }
    ring_[(head_ + count_) % ring_.size()] = op;
    ++count_;
    entry = ++enqueued_;
  }
  work_.Signal();
  return entry;
}

const void* GpuStream::OnCard(const void* begin, uint64_t bytes) const {
  if (begin == nullptr) return nullptr;
  if (card_->memory.Contains(begin, bytes)) return begin;
  return card_->host.OnCard(begin, bytes);
}

Status GpuStream::Copy(CopyDirection direction, std::span<const CopySegment> segments) {
  const auto where = [this](std::string_view what) { return Where(what); };
  BERTH_RETURN_IF_ERROR(CheckSegmentCount(segments, where));
  CopyOp op{direction, 0, {}};
  const bool to_card = direction == CopyDirection::kToCard;
  for (const CopySegment& segment : segments) {
    if (segment.bytes == 0) continue;
    const std::byte* on_card = to_card ? segment.to : segment.from;
    const std::byte* on_host = to_card ? segment.from : segment.to;
    if (!card_->memory.Contains(on_card, segment.bytes)) {
      return NotOnCard(direction, where);
    }
    if (card_->host.OnCard(on_host, segment.bytes) == nullptr) {
      return InvalidArgumentError(Where("a copy from or to host memory that is not registered"));
    }
    op.segments[op.count++] = segment;
  }
  return EnqueueOnly(op);
}

Status GpuStream::UpdateTable(std::span<const TableEntry> entries) {
  BERTH_ASSIGN_OR_RETURN(
      const TableUpdate op,
      TakeTableUpdate(entries, [this](std::string_view what) { return Where(what); }));
  return EnqueueOnly(op);
}

Status GpuStream::Run(const GroupedCall& call) {
  if (workspace_ == nullptr) {
    return FailedPreconditionError(Where("made without a workspace, cannot run experts"));
  }
  if (call.spec == nullptr || call.spec->hidden > options_.max_hidden ||
      call.spec->ffn > options_.max_ffn || call.unit_count > launcher_.sizes.max_units ||
      call.rows > launcher_.sizes.max_rows) {
    return InvalidArgumentError(Where("a grouped call beyond the sizes it was made for"));
  }
  const std::optional<CardLayer> layer = card_->layers.Find(*call.spec);
  if (!layer.has_value()) {
    return FailedPreconditionError(Where("a layer with biases or scales that were not prepared"));
  }
  RunOp op{{}, call.units, call.pairs};
  op.call.layer = *layer;
  op.call.rows = call.rows;
  op.call.top_k = call.top_k;
  op.call.unit_count = call.unit_count;
  op.call.kernel = call.kernel;
  const uint64_t row = call.spec->hidden * sizeof(float);
  const uint64_t rows = std::max(1u, call.rows);
  const auto floats = [&](const float* at, uint64_t bytes) {
    return static_cast<const float*>(OnCard(at, bytes));
  };
  op.call.x = floats(call.x, rows * row);
  op.call.partials = const_cast<float*>(floats(call.partials, row));
  op.call.weights = floats(call.weights, sizeof(float));
  // The host looks at these two as well.
  op.call.units = reinterpret_cast<const WaveUnit*>(
      card_->host.OnCard(call.units, call.unit_count * sizeof(WaveUnit)));
  op.call.pairs =
      reinterpret_cast<const uint32_t*>(card_->host.OnCard(call.pairs, sizeof(uint32_t)));
  const bool weights_lost = call.weights != nullptr && op.call.weights == nullptr;
  if (call.unit_count > 0 && (op.call.x == nullptr || op.call.partials == nullptr || weights_lost ||
                              op.call.units == nullptr || op.call.pairs == nullptr)) {
    return InvalidArgumentError(
        Where("a grouped call with x, weights, partials, units or pairs where the card cannot read "
              "them"));
  }
  return EnqueueOnly(op);
}

Status GpuStream::Reduce(const ReduceCall& call) {
  ReduceCall on_card = call;
  const uint64_t pairs = static_cast<uint64_t>(call.rows) * call.top_k;
  const uint64_t element = call.y_type == DataType::kF32 ? 4 : 2;
  const uint64_t y_elements = call.rows == 0 ? 0 : (call.rows - 1) * call.y_stride + call.hidden;
  on_card.partials =
      static_cast<const float*>(OnCard(call.partials, pairs * call.hidden * sizeof(float)));
  on_card.weights = static_cast<const float*>(OnCard(call.weights, pairs * sizeof(float)));
  on_card.ids = static_cast<const int32_t*>(OnCard(call.ids, pairs * sizeof(int32_t)));
  on_card.y = const_cast<void*>(OnCard(call.y, y_elements * element));
  const bool weights_lost = on_card.weights == nullptr && !call.weights_before;
  if (call.rows > 0 && (on_card.partials == nullptr || weights_lost || on_card.ids == nullptr ||
                        on_card.y == nullptr)) {
    return InvalidArgumentError(
        Where("a weighted sum with partials, weights, ids or y where the card cannot reach them"));
  }
  return EnqueueOnly(on_card);
}

Status GpuStream::Record(Event* event) {
  BERTH_ASSIGN_OR_RETURN(EventPoint* const point, card_->events.Take());
  // One use for the entry, one for the event.
  card_->events.Keep(point);
  Result<uint64_t> entry = Enqueue(RecordOp{point});
  if (!entry.ok()) {
    card_->events.Release(point);
    card_->events.Release(point);
    return entry.status();
  }
  static_cast<GpuEvent*>(event)->SetPlace({point, this, *entry});
  return Status();
}

Status GpuStream::Wait(Event* event) {
  const GpuEvent::Place place = static_cast<GpuEvent*>(event)->TakePlace();
  EventPoint* point = place.point;
  if (point != nullptr && place.stream == this) {  // it is in order with itself
    point->pool->Release(point);
    point = nullptr;
  }
  Status status = EnqueueOnly(WaitOp{point});
  if (!status.ok() && point != nullptr) point->pool->Release(point);
  return status;
}

Status GpuStream::Notify(uint64_t token) {
  if (options_.sink == nullptr) {
    return FailedPreconditionError(Where("made without a sink, cannot notify"));
  }
  return EnqueueOnly(NotifyOp{token});
}

Status GpuStream::Synchronize() {
  if (card_->completions.IsThisThread()) {
    return FailedPreconditionError(Where("a sink cannot wait for it"));
  }
  uint64_t last = 0;
  {
    MutexLock lock(&mutex_);
    last = enqueued_;
    while (issued_ < last) progress_.Wait(&mutex_);
  }
  if (card_->Lost().ok()) {
    const ScopedCard card(card_->ordinal);
    const gpuError_t error = gpuStreamSynchronize(stream_);
    if (error != gpuSuccess) (void)card_->Lose(error, Where("waiting"), "StreamSynchronize");
  }
  Status status;
  {
    MutexLock lock(&mutex_);
    while ((notice_count_ > 0 && notices_[first_notice_].entry <= last) ||
           (delivering_ && delivering_entry_ <= last)) {
      progress_.Wait(&mutex_);
    }
    status = TakeError(last);
  }
  return status.ok() ? card_->Lost() : status;
}

Status GpuStream::TakeError(uint64_t last) {
  if (window_.run_entry != 0 && window_.run_entry <= last) {
    window_.run_entry = 0;
    const uint32_t missing = TakeWord(window_.word);
    if (window_.error.ok()) window_.error = MissingUnit(missing);
  }
  return std::exchange(window_.error, Status());
}

bool GpuStream::DeliverOldest() {
  Notice notice;
  {
    MutexLock lock(&mutex_);
    if (notice_count_ == 0) return false;
    notice = notices_[first_notice_];
  }
  if (notice.point != nullptr && card_->Lost().ok()) {
    const ScopedCard card(card_->ordinal);
    const gpuError_t error = gpuEventQuery(notice.point->event);
    if (error == gpuErrorNotReady) {
      (void)gpuGetLastError();  // some run times keep it
      return false;
    }
    if (error != gpuSuccess) (void)card_->Lose(error, Where("its work"), "EventQuery");
  }
  if (notice.point != nullptr) card_->events.Release(notice.point);
  if (notice.ran) {
    const uint32_t missing = TakeWord(notice.word);
    if (notice.error.ok()) notice.error = MissingUnit(missing);
  }
  if (notice.error.ok()) notice.error = card_->Lost();
  {
    MutexLock lock(&mutex_);
    notices_[first_notice_] = Notice();
    first_notice_ = (first_notice_ + 1) % notices_.size();
    --notice_count_;
    delivering_ = true;
    delivering_entry_ = notice.entry;
  }
  options_.sink->StreamReached(notice.token, notice.error);
  {
    MutexLock lock(&mutex_);
    delivering_ = false;
  }
  progress_.SignalAll();
  return true;
}

uint32_t GpuStream::TakeWord(uint32_t word) {
  return std::atomic_ref<uint32_t>(words_[word]).exchange(0, std::memory_order_acquire);
}

Status GpuStream::MissingUnit(uint32_t word_value) const {
  if (word_value == 0) return Status();
  if (word_value == kCardGaveUp) {
    return InternalError(
        Where("blocks of a kernel waited for each other for seconds; the card has "
              "to be reset, and its results are not to be used"));
  }
  return InternalError(Where("unit " + std::to_string(word_value - 1) +
                             " is to run but is not in the pointer table"));
}

}  // namespace berth::kernels::gpu
