// A step of as many misses as hits: how much of the one hides behind the other.
#ifndef BERTH_BENCH_LINK_OVERLAP_H_
#define BERTH_BENCH_LINK_OVERLAP_H_

#include <cstdint>

#include "bench/expert_load.h"
#include "bench/link_card.h"
#include "berth/status.h"

namespace berth::bench {

struct OverlapLoad {
  TypePair pair;
  ExpertShape shape;
  uint32_t units = 10;  // hits, and as many misses
  uint32_t chunk = 5;   // misses of a wave
  uint32_t steps = 200;
  kernels::CopyPath copy_path = kernels::CopyPath::kEngine;
};

// Medians of steps, in seconds, each from its first call to the end of all its work.
struct OverlapResult {
  double copy = 0;     // the misses' copies alone
  double compute = 0;  // hits and misses computed, nothing copied
  double step = 0;     // both: hits while misses are copied, a wave of misses when it is there
};
Result<OverlapResult> RunOverlap(const std::string& device, const OverlapLoad& load);

}  // namespace berth::bench

#endif  // BERTH_BENCH_LINK_OVERLAP_H_
