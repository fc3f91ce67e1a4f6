// Random numbers that are the same on every machine: integers from counters, and floating point
// made of additions and multiplications alone (IEEE 754, nothing contracted), never of libm.
#ifndef BERTH_RUNTIME_SYNTH_RANDOM_H_
#define BERTH_RUNTIME_SYNTH_RANDOM_H_

#include <bit>
#include <cstdint>

#include "runtime/base/mix.h"

namespace berth::synth {

// What numbers are for: part of their key. The values are part of every trace.
enum class Purpose : uint64_t {
  kRanks = 1,
  kRouting = 2,
  kPredicted1Ahead = 3,
  kPredicted2Ahead = 4,
  kSigmas = 5,
  kLengths = 6,
};

// The numbers of one key. A key is made of what the numbers are for, so that what one layer or
// request draws does not depend on what others drew before.
class CounterRandom {
 public:
  CounterRandom() = default;
  CounterRandom(uint64_t seed, Purpose purpose, uint64_t a = 0, uint64_t b = 0)
      : key_(ScatterBits(
            ScatterBits(ScatterBits(ScatterBits(seed) ^ static_cast<uint64_t>(purpose)) ^ a) ^ b)) {
  }

  uint64_t Bits() { return ScatterBits(key_ + counter_++); }
  // In [0, bound); a bias of bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits()) * bound) >> 64);
  }
  // In [0, 1), multiples of 2^-53.
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  // Mean 0, variance 1. The number of heads of 64 coins, smeared over its bin: the distribution
  // function is within 0.001 of the normal one, the kurtosis is 2.97, and nothing lies beyond 8.
  double Normal() {
    const int heads = std::popcount(Bits());
    return (static_cast<double>(heads) - 32.5 + Uniform()) * kInverseDeviation;
  }

 private:
  // 1 / sqrt(16 + 1/12): the variance of 64 coins and of a bin's width.
  static constexpr double kInverseDeviation = 0.24935149047701336;

  uint64_t key_ = 0;
  uint64_t counter_ = 0;
};

// 2^x for |x| <= 1000, relative error below 2e-9.
double PowerOfTwo(double x);
// e^x for |x| <= 600.
double Exponential(double x);

}  // namespace berth::synth

#endif  // BERTH_RUNTIME_SYNTH_RANDOM_H_
