#include "io/storage/fault_storage.h"

#include <algorithm>
#include <cerrno>

#include "runtime/base/check.h"
#include "runtime/base/math.h"
#include "runtime/base/mix.h"

namespace berth::io {
namespace {

uint64_t Mix(uint64_t a, uint64_t b) { return Mix64(a + kMixStep * (b + 1)); }

// Uniform in [0, 1).
double Fraction(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1.0p-53; }

// What the draws of one read are for; each gets bits of its own.
enum Draw : uint64_t { kDrawFaults = 0, kDrawBusy = 16, kDrawCut, kDrawFlip, kDrawDelay };

}  // namespace

Result<std::unique_ptr<FaultStorage>> FaultStorage::Open(FaultPlan plan,
                                                         const StorageOptions& options,
                                                         const StorageOpener& opener) {
  std::unique_ptr<FaultStorage> storage(new FaultStorage(std::move(plan), options));
  StorageOptions inner = options;
  inner.sink = storage.get();
  BERTH_ASSIGN_OR_RETURN(storage->inner_, opener(inner));
  storage->thread_ = std::thread([raw = storage.get()] { raw->Serve(); });
  return storage;
}

FaultStorage::FaultStorage(FaultPlan plan, const StorageOptions& options)
    : plan_(std::move(plan)),
      paths_(options.paths),
      queue_(options.max_outstanding, options.sink),
      ops_(options.max_outstanding),
      range_hits_(plan_.ranges.size()),
      order_(plan_.seed) {
  MutexLock lock(&mutex_);
  arrived_.reserve(ops_.size());
}

FaultStorage::~FaultStorage() { Close(); }

void FaultStorage::Submit(std::span<const ReadRequest> reads) {
  queue_.Push(reads);
  Signal();
}

void FaultStorage::Close() {
  queue_.Close();
  Signal();
  MutexLock lock(&close_mutex_);
  if (thread_.joinable()) thread_.join();
  if (inner_ != nullptr) inner_->Close();
}

std::array<uint64_t, kFaultKinds> FaultStorage::counts() const {
  MutexLock lock(&mutex_);
  return counts_;
}

void FaultStorage::ReadCompleted(const ReadResult& result) {
  MutexLock lock(&mutex_);
  arrived_.push_back(result);
  ++events_;
  changed_.SignalAll();
}

void FaultStorage::Signal() {
  MutexLock lock(&mutex_);
  ++events_;
  changed_.SignalAll();
}

uint64_t FaultStorage::events() const {
  MutexLock lock(&mutex_);
  return events_;
}

void FaultStorage::Serve() {
  for (;;) {
    const uint64_t seen = events();
    TakeNew();
    TakeArrived();
    RunTimers();
    ReleaseHeld();
    if (queue_.closing() && !Busy() && held_.empty() && queue_.Finish()) return;
    WaitForEvent(seen);
  }
}

// Until something happened after event `seen`, or the next timer.
void FaultStorage::WaitForEvent(uint64_t seen) {
  Clock::time_point due = Clock::time_point::max();
  for (const Op& op : ops_) {
    if (op.state == State::kRetry || op.state == State::kDelayed) due = std::min(due, op.due);
  }
  MutexLock lock(&mutex_);
  if (events_ != seen) return;
  if (due == Clock::time_point::max()) {
    changed_.Wait(&mutex_);
  } else if (const auto left = due - Clock::now(); left.count() > 0) {
    changed_.WaitFor(&mutex_, left);
  }
}

bool FaultStorage::Busy() const {
  return std::any_of(ops_.begin(), ops_.end(), [](const Op& op) {
    return op.state != State::kFree && op.state != State::kHeld;
  });
}

void FaultStorage::TakeNew() {
  ReadRequest read;
  while (queue_.Take(&read)) Begin(read);
}

void FaultStorage::Begin(const ReadRequest& read) {
  if (queue_.closing()) {
    queue_.Complete(ReadProgress(read).Abandon(ClosedError()));
    return;
  }
  const auto free =
      std::find_if(ops_.begin(), ops_.end(), [](const Op& op) { return op.state == State::kFree; });
  BERTH_CHECK(free != ops_.end());
  *free = Op{.progress = ReadProgress(read)};
  // A wrong request goes to the inner storage as it is, which refuses it.
  if (ValidateRead(read, read.file + size_t{1}).ok()) Script(&*free);
  Attempt(static_cast<uint32_t>(free - ops_.begin()));
}

// Draws what will happen to this read, before anything does.
void FaultStorage::Script(Op* op) {
  const ReadRequest& read = op->progress.request();
  const uint64_t visit = visits_[{read.file, read.offset}]++;
  op->hash = Mix(Mix(Mix(plan_.seed, read.file), read.offset), visit);
  for (int i = 0; i < kFaultKinds; ++i) {
    if (Fraction(Mix(op->hash, kDrawFaults + i)) < plan_.rates[i]) Meet(op, static_cast<Fault>(i));
  }
  for (size_t i = 0; i < plan_.ranges.size(); ++i) {
    const FaultRange& range = plan_.ranges[i];
    if (range.file != read.file || read.offset >= range.end ||
        read.offset + read.need <= range.begin) {
      continue;
    }
    if (range.times != 0 && range_hits_[i] >= range.times) continue;
    ++range_hits_[i];
    Meet(op, range.fault);
  }
}

void FaultStorage::Meet(Op* op, Fault fault) {
  switch (fault) {
    case Fault::kShortRead:
      op->short_reads = 1;
      break;
    case Fault::kBusyRecovers:
      op->busy = 1 + Mix(op->hash, kDrawBusy) % 3;
      break;
    case Fault::kBusyStays:
      op->busy = kAlways;
      break;
    case Fault::kIoErrorRecovers:
      op->io_errors = std::max(op->io_errors, 1u);
      break;
    case Fault::kIoErrorStays:
      op->io_errors = kAlways;
      break;
    case Fault::kEndOfFile:
      op->end_of_file = true;
      break;
    case Fault::kBitFlip:
      op->flip = true;
      break;
  }
  MutexLock lock(&mutex_);
  ++counts_[static_cast<int>(fault)];
}

// One try: an error of the script, or a read of the inner storage.
void FaultStorage::Attempt(uint32_t index) {
  Op& op = ops_[index];
  if (op.io_errors > 0) {
    if (op.io_errors != kAlways) --op.io_errors;
    return Advance(index, -EIO);
  }
  if (op.busy > 0) {
    if (op.busy != kAlways) --op.busy;
    return Advance(index, -EAGAIN);
  }
  if (op.end_of_file) return Advance(index, 0);
  const ReadProgress::Range range = op.progress.Next();
  const ReadRequest& whole = op.progress.request();
  ReadRequest part = whole;
  part.token = index;
  part.offset = range.offset;
  part.length = range.length;
  part.destination = range.destination;
  const auto done = static_cast<uint32_t>(range.offset - whole.offset);
  if (op.short_reads > 0 && range.length > kIoAlign) {
    --op.short_reads;
    const uint64_t draw = Mix(op.hash, kDrawCut);
    const uint64_t pages = 1 + draw % (range.length / kIoAlign - 1);
    part.length = static_cast<uint32_t>(pages * kIoAlign);
    op.cut = (draw >> 32) % 2 == 0 ? 0 : 512 * (1 + (draw >> 33) % 7);
  }
  if (whole.need <= whole.length) {
    part.need = std::min(part.length, whole.need - std::min(whole.need, done));
  }
  op.state = State::kInner;
  inner_->Submit({&part, 1});
}

void FaultStorage::TakeArrived() {
  std::vector<ReadResult> arrived;
  {
    MutexLock lock(&mutex_);
    arrived.swap(arrived_);
  }
  for (const ReadResult& result : arrived) {
    const auto index = static_cast<uint32_t>(result.token);
    Op& op = ops_[index];
    BERTH_CHECK_MSG(op.state == State::kInner, "the inner storage completed a read twice");
    op.inner_retries += result.retries;
    op.inner_retried_bytes += result.retried_bytes;
    if (!result.status.ok()) {
      op.inner_status = result.status;
      Finish(index);
      continue;
    }
    const uint32_t cut = std::exchange(op.cut, 0);
    Advance(index, result.bytes > cut ? result.bytes - cut : result.bytes);
  }
}

void FaultStorage::Advance(uint32_t index, int64_t result) {
  Op& op = ops_[index];
  switch (op.progress.Advance(result)) {
    case ReadProgress::Action::kDone:
      return Finish(index);
    case ReadProgress::Action::kAgain:
      op.due = Clock::time_point();
      break;
    case ReadProgress::Action::kAgainAfterDelay:
      op.due = Clock::now() + std::chrono::microseconds(op.progress.delay_us());
      break;
  }
  op.state = State::kRetry;
}

// The read is decided; now it is made late.
void FaultStorage::Finish(uint32_t index) {
  Op& op = ops_[index];
  if (op.flip && op.inner_status.ok() && !op.progress.failed()) Flip(op);
  const Clock::time_point now = Clock::now();
  op.due = now;
  if (plan_.bytes_per_second > 0) {
    const double seconds =
        static_cast<double>(op.progress.bytes()) / static_cast<double>(plan_.bytes_per_second);
    drive_free_ = std::max(drive_free_, now) + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
    op.due = drive_free_;
  }
  if (plan_.delay_us_max > 0) {
    const uint64_t late = Mix(op.hash, kDrawDelay) % (uint64_t{plan_.delay_us_max} + 1);
    op.due += std::chrono::microseconds(late);
  }
  op.state = State::kDelayed;
}

void FaultStorage::Flip(const Op& op) {
  const ReadRequest& read = op.progress.request();
  if (read.need == 0) return;
  const uint64_t bit = Mix(op.hash, kDrawFlip) % (uint64_t{read.need} * 8);
  read.destination[bit / 8] ^= std::byte{1} << (bit % 8);
}

void FaultStorage::RunTimers() {
  const bool closing = queue_.closing();
  const Clock::time_point now = Clock::now();
  for (uint32_t i = 0; i < ops_.size(); ++i) {
    Op& op = ops_[i];
    // A try may lead to the next at once (EIO, then EAGAIN).
    while (op.state == State::kRetry && (closing || op.due <= now)) {
      if (closing) {
        op.inner_status = ClosedError();
        Finish(i);
      } else {
        Attempt(i);
      }
    }
    if (op.state == State::kDelayed && (closing || op.due <= now)) {
      op.state = State::kHeld;
      held_.push_back(i);
    }
  }
}

void FaultStorage::ReleaseHeld() {
  const bool all = queue_.closing() || !Busy();
  while (!held_.empty() && (all || held_.size() > plan_.hold_back)) {
    // Without reordering they leave as they came.
    const size_t pick = plan_.hold_back == 0 ? 0 : order_() % held_.size();
    const uint32_t index = held_[pick];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(pick));
    Deliver(index);
  }
}

void FaultStorage::Deliver(uint32_t index) {
  Op& op = ops_[index];
  const uint32_t file = op.progress.request().file;
  const std::string_view path =
      file < paths_.size() ? std::string_view(paths_[file]) : "a file that is not open";
  ReadResult result =
      op.inner_status.ok() ? op.progress.Finish(path) : op.progress.Abandon(op.inner_status);
  result.retries += op.inner_retries;
  result.retried_bytes += op.inner_retried_bytes;
  op.state = State::kFree;
  queue_.Complete(result);
}

}  // namespace berth::io
