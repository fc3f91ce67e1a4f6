// How fast processors read memory, as a bound for what streams weights.
#ifndef BERTH_BENCH_READ_RATE_H_
#define BERTH_BENCH_READ_RATE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/stopwatch.h"

namespace berth::bench {

// Adds up all of `memory` once with the widest vectors of this processor, each of `threads` a
// stretch of its own, and returns bytes a second by `clock`. The memory must have been written
// before (first touch) and be larger than the caches. Interference only ever lowers it: take the
// best of several.
double ReadBytesPerSecond(std::span<const std::byte> memory, uint32_t threads, Clock clock);

}  // namespace berth::bench

#endif  // BERTH_BENCH_READ_RATE_H_
