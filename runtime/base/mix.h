// The mixer of 64-bit integers: the finalizer of SplitMix64 (Steele, Lea, Flood 2014), a bijection.
// Numbers that must be the same in any order and on any machine are made of counters with it.
#ifndef BERTH_RUNTIME_BASE_MIX_H_
#define BERTH_RUNTIME_BASE_MIX_H_

#include <cstdint>

namespace berth {

// 2^64 / the golden ratio: multiples of it are far apart. SplitMix64's step.
inline constexpr uint64_t kMixStep = 0x9e3779b97f4a7c15u;

// Of 0 it is 0.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Scatters counters, 0 as well.
constexpr uint64_t ScatterBits(uint64_t counter) { return Mix64(counter + kMixStep); }

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_MIX_H_
