#include "io/storage/ring_engine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/check.h"

namespace berth::io {
namespace {

constexpr uint64_t kWake = ~uint64_t{0} - 1;
constexpr auto kSubmitPauseFirst = std::chrono::microseconds(50);
constexpr auto kSubmitPauseMax = std::chrono::milliseconds(10);
// With the pauses above about ten seconds without one read taken or completed.
constexpr uint32_t kSubmitFailuresMax = 1000;

bool IsTransient(int error) {
  return error == EAGAIN || error == EBUSY || error == EINTR || error == ENOMEM;
}

uint64_t UserData(uint32_t place, uint32_t generation) {
  return uint64_t{generation} << 32 | place;
}

}  // namespace

RingEngine::RingEngine(ReadQueue* queue, Setup setup)
    : queue_(queue), setup_(std::move(setup)), places_(setup_.queue_depth) {
  free_.reserve(places_.size());
  for (uint32_t i = setup_.queue_depth; i > 0; --i) free_.push_back(i - 1);
  prepared_.reserve(places_.size() + 1);
  reaped_.resize(places_.size() + 1);
}

void RingEngine::Run() {
  for (;;) {
    const bool closing = queue_->closing();
    if (closing) {
      CancelWaiting();
    } else {
      StartWaiting();
    }
    StartReads();
    if (!closing && broken_.ok()) ArmWake();
    if (closing && Idle()) {
      if (queue_->Finish()) return;
      continue;
    }
    SubmitAndWait();
    Reap();
  }
}

void RingEngine::StartReads() {
  ReadRequest read;
  while (!free_.empty() && queue_->Take(&read)) Begin(read);
}

void RingEngine::Begin(const ReadRequest& read) {
  Status status;
  if (queue_->closing()) {
    status = ClosedError();
  } else if (!broken_.ok()) {
    status = broken_;
  } else {
    status = ValidateRead(read, files_->size());
  }
  if (!status.ok()) {
    queue_->Complete(ReadProgress(read).Abandon(std::move(status)));
    return;
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  places_[place].progress = ReadProgress(read);
  Prepare(place);
}

void RingEngine::Prepare(uint32_t index) {
  Place& place = places_[index];
  const ReadProgress::Range range = place.progress.Next();
  const uint32_t file = place.progress.request().file;
  const uint64_t user_data = UserData(index, ++place.generation);
  const bool prepared = ring_->Prepare({
      .file = files_registered_ ? static_cast<int>(file) : files_->fd(file),
      .file_is_index = files_registered_,
      .buffer = setup_.registered ? table_.Find(range.destination, range.length) : kNoBuffer,
      .offset = range.offset,
      .length = range.length,
      .destination = range.destination,
      .user_data = user_data,
  });
  BERTH_CHECK_MSG(prepared, "the submission queue is smaller than the queue depth");
  place.state = State::kInKernel;
  ++in_kernel_;
  prepared_.push_back(user_data);
}

void RingEngine::ArmWake() {
  if (wake_armed_) return;
  wake_armed_ = ring_->Prepare({.file = setup_.wake_fd,
                                .length = sizeof(wake_count_),
                                .destination = reinterpret_cast<std::byte*>(&wake_count_),
                                .user_data = kWake});
  BERTH_CHECK_MSG(wake_armed_, "the submission queue has no place for the wake-up");
  prepared_.push_back(kWake);
}

// How long the owner may wait: until something arrives (none), until the first retry is due, or
// not at all because reads can start.
std::optional<std::chrono::nanoseconds> RingEngine::WaitTime() {
  if (!free_.empty() && !queue_->PrepareToSleep() && !queue_->closing()) {
    return std::chrono::nanoseconds::zero();
  }
  if (waiting_ == 0) return std::nullopt;
  Clock::time_point due = Clock::time_point::max();
  for (const Place& place : places_) {
    if (place.state == State::kWaiting) due = std::min(due, place.due);
  }
  return std::max<std::chrono::nanoseconds>(due - Clock::now(), std::chrono::nanoseconds::zero());
}

void RingEngine::SubmitAndWait() {
  if (!broken_.ok()) {
    // Only what the kernel took before is left to wait for, and the ring can no longer be waited
    // on together with the callers.
    queue_->SleepForWork(Idle() ? std::chrono::milliseconds(100) : std::chrono::milliseconds(1));
    ring_->Deliver();
    return;
  }
  const int error = ring_->Submit(WaitTime());
  const uint32_t left = ring_->Unsubmitted();
  if (left < prepared_.size()) {
    prepared_.erase(prepared_.begin(), prepared_.end() - left);
    submit_failures_ = 0;
  }
  if (error < 0) {
    SubmitFailed(-error);
  } else {
    submit_failures_ = 0;
  }
}

void RingEngine::SubmitFailed(int error) {
  if (error == EINTR) return;
  if (!IsTransient(error) || ++submit_failures_ > kSubmitFailuresMax) return Break(error);
  // Completions that are there make room; without one, give the system a moment.
  const auto pause = std::min<std::chrono::nanoseconds>(
      kSubmitPauseFirst * (1u << std::min(submit_failures_, 8u)), kSubmitPauseMax);
  queue_->SleepUnlessClosing(pause);
}

void RingEngine::Break(int error) {
  broken_ = UnavailableError(absl::StrCat("io_uring stopped taking reads: ", std::strerror(error),
                                          "; open the storage again with the pread engine"));
  const std::vector<uint64_t> never_taken = std::exchange(prepared_, {});
  for (const uint64_t user_data : never_taken) {
    if (user_data == kWake) {
      wake_armed_ = false;
      continue;
    }
    const auto place = static_cast<uint32_t>(user_data);
    --in_kernel_;
    Release(place, places_[place].progress.Abandon(broken_));
  }
}

void RingEngine::Reap() {
  for (;;) {
    const uint32_t count = ring_->Reap(reaped_);
    for (uint32_t i = 0; i < count; ++i) Arrived(reaped_[i]);
    if (count > 0) submit_failures_ = 0;
    if (count < reaped_.size()) return;
  }
}

void RingEngine::Arrived(const RingCompletion& completion) {
  if (completion.user_data == kWake) {
    wake_armed_ = false;
    return;
  }
  const auto index = static_cast<uint32_t>(completion.user_data);
  BERTH_CHECK_MSG(index < places_.size() && places_[index].state == State::kInKernel &&
                      UserData(index, places_[index].generation) == completion.user_data,
                  "the ring completed a read that is not under way");
  --in_kernel_;
  Advance(index, completion.result);
}

void RingEngine::Advance(uint32_t index, int64_t result) {
  Place& place = places_[index];
  switch (place.progress.Advance(result)) {
    case ReadProgress::Action::kDone:
      Release(index, place.progress.Finish(files_->path(place.progress.request().file)));
      return;
    case ReadProgress::Action::kAgain:
      place.due = Clock::time_point();
      break;
    case ReadProgress::Action::kAgainAfterDelay:
      place.due = Clock::now() + std::chrono::microseconds(place.progress.delay_us());
      break;
  }
  place.state = State::kWaiting;
  ++waiting_;
}

void RingEngine::StartWaiting() {
  if (waiting_ == 0) return;
  const Clock::time_point now = Clock::now();
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (places_[i].state != State::kWaiting || places_[i].due > now) continue;
    --waiting_;
    if (broken_.ok()) {
      Prepare(i);
    } else {
      Release(i, places_[i].progress.Abandon(broken_));
    }
  }
}

void RingEngine::CancelWaiting() {
  for (uint32_t i = 0; i < places_.size() && waiting_ > 0; ++i) {
    if (places_[i].state != State::kWaiting) continue;
    --waiting_;
    Release(i, places_[i].progress.Abandon(ClosedError()));
  }
}

void RingEngine::Release(uint32_t index, const ReadResult& result) {
  places_[index].state = State::kFree;
  free_.push_back(index);
  queue_->Complete(result);
}

}  // namespace berth::io
