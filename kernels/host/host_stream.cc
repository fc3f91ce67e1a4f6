#include "kernels/host/host_stream.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "runtime/base/check.h"

namespace berth::kernels {

HostStream::HostStream(HostCard* card, const StreamOptions& options)
    : card_(card), options_(options), pace_(options.unpaced ? nullptr : &card->link) {
  ring_.resize(options.capacity);
  workspace_bytes_ = ring_.capacity() * sizeof(Op);
  if (options.max_pairs > 0) {
    workspace_ = std::make_unique<HostExpertWorkspace>(
        card->pool.get(), options.max_hidden, options.max_ffn, options.max_pairs, card->math);
    addresses_.resize(options.max_pairs);
    workspace_bytes_ += workspace_->bytes() + addresses_.capacity() * sizeof(addresses_[0]);
  }
  card_->workspace_bytes += workspace_bytes_;
  ++card_->streams;
}

Result<std::unique_ptr<Stream>> HostStream::Create(HostCard* card, const StreamOptions& options) {
  const std::string what = "card " + card->name + ", stream " + options.name;
  if (options.capacity == 0) return InvalidArgumentError(what + ": a capacity of 0 entries");
  const int sizes = (options.max_hidden > 0) + (options.max_ffn > 0) + (options.max_pairs > 0);
  if (sizes != 0 && sizes != 3) {
    return InvalidArgumentError(what + ": max_hidden, max_ffn and max_pairs are all 0 or all not");
  }
  try {
    std::unique_ptr<HostStream> stream(new HostStream(card, options));
    stream->Start();
    return std::unique_ptr<Stream>(std::move(stream));
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError(what + ": no memory for its workspace; lower max_rows");
  } catch (const std::system_error& error) {
    return ResourceExhaustedError(what + ": no thread for it: " + error.what());
  }
}

void HostStream::Start() {
  thread_ = std::thread([this] { Loop(); });
}

HostStream::~HostStream() {
  BERTH_CHECK_MSG(thread_.get_id() != std::this_thread::get_id(),
                  "a stream is destroyed by its own sink");
  if (thread_.joinable()) {
    {
      MutexLock lock(&mutex_);
      closing_ = true;
    }
    work_.Signal();
    thread_.join();
  }
  card_->workspace_bytes -= workspace_bytes_;
  --card_->streams;
}

std::string HostStream::Where(std::string_view what) const {
  std::string text = "card " + card_->name + ", stream " + options_.name + ": ";
  return text.append(what);
}

Result<uint64_t> HostStream::Enqueue(Op op) {
  uint64_t entry = 0;
  {
    MutexLock lock(&mutex_);
    if (count_ == ring_.size()) {
      return ResourceExhaustedError(Where("its queue of " + std::to_string(ring_.size()) +
                                          " entries is full: raise the stream's capacity"));
    }
    ring_[(head_ + count_) % ring_.size()] = std::move(op);
    ++count_;
    entry = ++enqueued_;
  }
  work_.Signal();
  return entry;
}

Status HostStream::Copy(CopyDirection direction, std::span<const CopySegment> segments) {
  const auto where = [this](std::string_view what) { return Where(what); };
  BERTH_RETURN_IF_ERROR(CheckSegmentCount(segments, where));
  CopyOp op{direction, static_cast<uint32_t>(segments.size()), {}, {}};
  for (size_t i = 0; i < segments.size(); ++i) {
    const CopySegment& segment = segments[i];
    const bool to_card = direction == CopyDirection::kToCard;
    const std::byte* on_card = to_card ? segment.to : segment.from;
    const std::byte* on_host = to_card ? segment.from : segment.to;
    if (segment.bytes > 0 &&
        (on_host == nullptr || !card_->memory.Contains(on_card, segment.bytes))) {
      return NotOnCard(direction, where);
    }
    op.segments[i] = segment;
  }
  if (pace_.paced()) op.enqueued = LinkPacer::Clock::now();
  return EnqueueOnly(op);
}

Status HostStream::UpdateTable(std::span<const TableEntry> entries) {
  BERTH_ASSIGN_OR_RETURN(
      const TableUpdate op,
      TakeTableUpdate(entries, [this](std::string_view what) { return Where(what); }));
  return EnqueueOnly(op);
}

Status HostStream::Run(const GroupedCall& call) {
  if (workspace_ == nullptr) {
    return FailedPreconditionError(Where("made without a workspace, cannot run experts"));
  }
  if (call.spec == nullptr || call.spec->hidden > options_.max_hidden ||
      call.spec->ffn > options_.max_ffn || call.unit_count > options_.max_pairs) {
    return InvalidArgumentError(Where("a grouped call beyond the sizes it was made for"));
  }
  return EnqueueOnly(call);
}

Status HostStream::Reduce(const ReduceCall& call) { return EnqueueOnly(call); }

Status HostStream::Record(Event* event) {
  BERTH_ASSIGN_OR_RETURN(const uint64_t entry, Enqueue(RecordOp{}));
  static_cast<HostEvent*>(event)->SetPlace({progress_, entry});
  return Status();
}

Status HostStream::Wait(Event* event) {
  return EnqueueOnly(WaitOp{static_cast<HostEvent*>(event)->place()});
}

Status HostStream::Notify(uint64_t token) {
  if (options_.sink == nullptr) {
    return FailedPreconditionError(Where("made without a sink, cannot notify"));
  }
  return EnqueueOnly(NotifyOp{token});
}

Status HostStream::Synchronize() {
  if (thread_.get_id() == std::this_thread::get_id()) {
    return FailedPreconditionError(Where("its own sink cannot wait for it"));
  }
  uint64_t last = 0;
  {
    MutexLock lock(&mutex_);
    last = enqueued_;
  }
  progress_->AwaitEntry(last);
  return TakeError();
}

Status HostStream::TakeError() {
  MutexLock lock(&mutex_);
  return std::exchange(error_, Status());
}

void HostStream::Loop() {
  pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  // Paced copies end on time only if the timer does: 1 us instead of 50.
  if (pace_.paced()) prctl(PR_SET_TIMERSLACK, 1000UL);
  while (true) {
    const Op* op = nullptr;
    bool skip = false;
    {
      MutexLock lock(&mutex_);
      while (count_ == 0 && !closing_) work_.Wait(&mutex_);
      if (count_ == 0) return;
      // The entry is done where it lies: its place is not given away before FreePlace.
      op = &ring_[head_];
      skip = !error_.ok();
    }
    Done(*op, skip);
    progress_->Advance();
  }
}

void HostStream::FreePlace() {
  MutexLock lock(&mutex_);
  ring_[head_] = RecordOp{};  // lets go of the stream that a wait refers to
  head_ = (head_ + 1) % ring_.size();
  --count_;
}

void HostStream::Done(const Op& op, bool skip) {
  if (const NotifyOp* notify = std::get_if<NotifyOp>(&op)) {
    return DoNotify(notify->token);
  }
  if (const WaitOp* wait = std::get_if<WaitOp>(&op)) {
    DoWait(*wait);
  } else if (!skip) {
    if (Status status = Guarded(op); !status.ok()) {
      MutexLock lock(&mutex_);
      error_ = std::move(status);
    }
  }
  FreePlace();
}

void HostStream::DoNotify(uint64_t token) {
  FreePlace();
  options_.sink->StreamReached(token, TakeError());
}

void HostStream::DoWait(const WaitOp& op) {
  if (op.place.stream == nullptr || op.place.stream == progress_) return;
  if (op.place.stream->Reached(op.place.entry)) return;
  pace_.Break();
  op.place.stream->AwaitEntry(op.place.entry);
}

// An exception that left the thread would end the process; the worker pool's library may throw.
Status HostStream::Guarded(const Op& op) {
  try {
    return DoWork(op);
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError(Where("out of memory"));
  } catch (const std::exception& error) {
    return UnavailableError(Where(error.what()));
  }
}

Status HostStream::DoWork(const Op& op) {
  if (const CopyOp* copy = std::get_if<CopyOp>(&op)) return DoCopy(*copy);
  if (const TableUpdate* table = std::get_if<TableUpdate>(&op)) return DoUpdateTable(*table);
  if (const GroupedCall* call = std::get_if<GroupedCall>(&op)) return DoRun(*call);
  if (const ReduceCall* call = std::get_if<ReduceCall>(&op)) {
    pace_.Break();
    HostReduce(*call);
  }
  return Status();
}

Status HostStream::DoCopy(const CopyOp& op) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < op.count; ++i) bytes += op.segments[i].bytes;
  const auto end = pace_.paced() && bytes > 0 ? pace_.Book(op.direction, bytes, op.enqueued)
                                              : LinkPacer::Clock::time_point::min();
  for (uint32_t i = 0; i < op.count; ++i) {
    const CopySegment& segment = op.segments[i];
    if (segment.bytes > 0) std::memcpy(segment.to, segment.from, segment.bytes);
  }
  if (end > LinkPacer::Clock::time_point::min()) std::this_thread::sleep_until(end);
  return Status();
}

Status HostStream::DoUpdateTable(const TableUpdate& op) {
  PointerTable* table = card_->table.load(std::memory_order_acquire);
  if (table == nullptr) {
    return FailedPreconditionError(Where("a table update before the table was made"));
  }
  for (uint32_t i = 0; i < op.count; ++i) {
    if (op.entries[i].unit >= table->units()) {
      return OutOfRangeError(Where("a table update names unit " +
                                   std::to_string(op.entries[i].unit) + " of " +
                                   std::to_string(table->units())));
    }
  }
  for (uint32_t i = 0; i < op.count; ++i) table->Store(op.entries[i].unit, op.entries[i].address);
  return Status();
}

Status HostStream::DoRun(const GroupedCall& call) {
  pace_.Break();
  const PointerTable* table = card_->table.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < call.unit_count; ++i) {
    const WaveUnit& unit = call.units[i];
    if (unit.expert >= call.spec->experts || unit.first_pair > options_.max_pairs ||
        unit.pair_count > options_.max_pairs - unit.first_pair) {
      return InvalidArgumentError(Where("a wave with unit " + std::to_string(unit.unit) +
                                        ", whose expert or pairs are beyond the call's sizes"));
    }
    addresses_[i] = unit.address;
    if (unit.address != nullptr) continue;
    if (table != nullptr && unit.unit < table->units()) addresses_[i] = table->Load(unit.unit);
    if (addresses_[i] == nullptr) {
      return InternalError(Where("unit " + std::to_string(unit.unit) +
                                 " is to run but is not in the pointer table"));
    }
  }
  if (Status status = workspace_->Run(call, {addresses_.data(), call.unit_count}); !status.ok()) {
    return Status(status.code(), Where(status.message()));
  }
  return Status();
}

}  // namespace berth::kernels
