// Random numbers of the tests, from a seed; the same on every machine and library.
#ifndef BERTH_TESTS_SCHEDULER_RANDOM_H_
#define BERTH_TESTS_SCHEDULER_RANDOM_H_

#include <algorithm>
#include <cstdint>

#include "runtime/base/mix.h"

namespace berth::scheduler {

// SplitMix64: good enough to choose faults by, and made in no time.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * kMixStep + 1) {}
  uint64_t Next() { return Mix64(state_ += kMixStep); }
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(Next() % n); }
  uint32_t In(uint32_t low, uint32_t high) { return low + Below(high - low + 1); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }
  bool Chance(double p) { return static_cast<double>(Next() >> 11) * 0x1p-53 < p; }
  // Small numbers are more likely, so that there are hits.
  uint32_t Skewed(uint32_t n) { return std::min(Below(n), OneIn(3) ? n : Below(n)); }

 private:
  uint64_t state_;
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_RANDOM_H_
