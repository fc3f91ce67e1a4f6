// ActivityClock: splits wall time by what was under way, so that the parts add up to the whole.
#ifndef BERTH_RUNTIME_ENGINE_ACTIVITY_CLOCK_H_
#define BERTH_RUNTIME_ENGINE_ACTIVITY_CLOCK_H_

#include <array>
#include <chrono>
#include <cstdint>

#include "berth/stats.h"

namespace berth {

// Not thread-safe: changed under the engine's lock.
class ActivityClock {
 public:
  enum Kind : uint8_t { kCompute, kHostCompute, kCopy, kRead, kStep };

  ActivityClock() : last_(Clock::now()) {}
  void Begin(Kind kind) {
    Advance();
    ++under_way_[kind];
  }
  void End(Kind kind) {
    Advance();
    --under_way_[kind];
  }
  TimeSplit Read() {
    Advance();
    return split_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Advance() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    if (under_way_[kCompute] > 0) {
      split_.device_s += seconds;
    } else if (under_way_[kHostCompute] > 0) {
      split_.host_compute_s += seconds;
    } else if (under_way_[kCopy] > 0) {
      split_.link_s += seconds;
    } else if (under_way_[kRead] > 0) {
      split_.storage_s += seconds;
    } else if (under_way_[kStep] > 0) {
      split_.other_s += seconds;
    } else {
      split_.idle_s += seconds;
    }
  }

  Clock::time_point last_;
  std::array<uint32_t, 5> under_way_ = {};
  TimeSplit split_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_ACTIVITY_CLOCK_H_
