// How much to prefetch: chosen by simulating, never by the running clock, so that a run and the
// simulator choose the same.
#ifndef BERTH_RUNTIME_RUN_PREFETCH_CHOICE_H_
#define BERTH_RUNTIME_RUN_PREFETCH_CHOICE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "berth/status.h"

namespace berth {

struct PrefetchTrial {
  uint64_t step_bytes = 0;
  double seconds = 0;  // that the beginning of the trace took
};

struct PrefetchChoice {
  uint64_t step_bytes = 0;  // 0: no prefetch is best
  std::vector<PrefetchTrial> trials;
};

// Plays the beginning of the trace, PrefetchTrialPasses of it, with this budget from a cold start
// and says how long that took.
using SimulateBudget = std::function<Result<double>(uint64_t step_bytes)>;

// Tries 0, 1, 2, 4, ... up to `most_units` units a step (of the largest size, so that each layer
// gets as many) and takes the fastest; of those within 1 % of it the smallest.
Result<PrefetchChoice> ChoosePrefetch(std::span<const uint64_t> layer_unit_bytes,
                                      uint32_t most_units, const SimulateBudget& simulate);

// How much of a trace the trials play: enough to see the policy settle, and not the whole of a long
// one.
uint64_t PrefetchTrialPasses(uint64_t passes);
// The most units that a step of `max_rows` rows can be hinted.
uint32_t MostPrefetchUnits(uint32_t experts, uint32_t top_k, uint32_t max_rows);

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_PREFETCH_CHOICE_H_
