#include "tests/scheduler/simulated_read.h"

#include <algorithm>
#include <cerrno>

#include "runtime/base/math.h"

namespace berth::scheduler {
namespace {

constexpr uint32_t kForever = UINT32_MAX;
constexpr uint32_t kUsPerTick = 50;
// Destinations are computed, never written.
alignas(kIoAlign) std::byte nowhere[1u << 20];

}  // namespace

SimulatedRead::SimulatedRead(uint64_t offset, uint32_t bytes, bool broken, Faults* faults,
                             Random* random) {
  io::ReadRequest request;
  request.offset = AlignDown(offset, kIoAlign);
  request.length = static_cast<uint32_t>(AlignUp(bytes, kIoAlign));
  request.need = std::max(1u, bytes - bytes / 8);
  request.destination = nowhere;
  progress_ = io::ReadProgress(request);
  const auto draw = [&](Fault fault) { return faults->Draw(fault, random); };
  end_ = request.length;
  if (draw(Fault::kEndShort)) end_ = random->In(request.need, request.length);
  if (draw(Fault::kIoErrorOnce)) io_errors_ = 1;
  if (draw(Fault::kStorm)) storm_ = random->In(1, io::ReadProgress::kTransientMax);
  if (draw(Fault::kShortRead)) shorts_ = random->In(1, io::ReadProgress::kStallsMax - 1);
  if (shorts_ == 0 && draw(Fault::kStall)) {
    stalls_ = random->In(1, io::ReadProgress::kStallsMax - 1);
  }
  if (draw(Fault::kBitFlip)) flipped_ = true;
  if (draw(Fault::kTooLong)) too_long_ = true;
  if (draw(Fault::kStallForever)) stalls_ = kForever;
  if (draw(Fault::kCutFile)) end_ = random->Below(request.need);
  if (draw(Fault::kStormForever)) storm_ = kForever;
  if (broken || draw(Fault::kIoError)) io_errors_ = kForever;
}

uint32_t SimulatedRead::MostResults(uint32_t bytes) {
  // A storm before each of the short results, and before the error.
  return (io::ReadProgress::kTransientMax + 2) *
         (io::ReadProgress::kStallsMax + 2 + static_cast<uint32_t>(CeilDiv(bytes, kIoAlign)));
}

int64_t SimulatedRead::NextResult(const io::ReadProgress::Range& range, Random* random) {
  const auto take = [](uint32_t* left) {
    if (*left == 0) return false;
    if (*left != kForever) --*left;
    return true;
  };
  if (take(&storm_)) {
    constexpr int kTransient[] = {EAGAIN, EINTR, EBUSY, ENOMEM};
    return -kTransient[random->Below(4)];
  }
  if (take(&io_errors_)) return -EIO;
  if (too_long_) return static_cast<int64_t>(range.length) + random->In(1, 5000);
  const uint32_t start = static_cast<uint32_t>(range.offset - progress_.request().offset);
  const uint32_t there = std::min(end_ - std::min(end_, start), range.length);
  if (there <= 1) return there;
  if (take(&stalls_)) {
    return random->In(1, std::min(there - 1, static_cast<uint32_t>(kIoAlign) - 1));
  }
  if (take(&shorts_)) return random->In(1, there - 1);
  return there;
}

bool SimulatedRead::Advance(Random* random, uint64_t* delay) {
  ++results_;
  const io::ReadProgress::Range range = progress_.Next();
  const int64_t result = NextResult(range, random);
  const uint32_t start = static_cast<uint32_t>(range.offset - progress_.request().offset);
  if (result > 0 && result <= range.length && start <= covered_) {
    covered_ = std::max(covered_, start + static_cast<uint32_t>(result));
  }
  switch (progress_.Advance(result)) {
    case io::ReadProgress::Action::kDone:
      return true;
    case io::ReadProgress::Action::kAgain:
      *delay = 1;
      return false;
    case io::ReadProgress::Action::kAgainAfterDelay:
      *delay = 1 + progress_.delay_us() / kUsPerTick;
      return false;
  }
  return true;
}

}  // namespace berth::scheduler
