// What is measured on a synthetic trace to hold it against published figures: miss rates by
// counting, and how rows and requests share experts.
#ifndef BERTH_BENCH_SYNTH_FIGURES_H_
#define BERTH_BENCH_SYNTH_FIGURES_H_

#include <cstdint>
#include <map>
#include <string>

#include "berth/status.h"
#include "runtime/synth/options.h"

namespace berth::bench {

struct FigureOptions {
  SynthOptions traffic;
  // Requests of the other traffic that the profile is counted from: of the same model, each of
  // another user (no affinity).
  uint32_t profile_requests = 45;
};

// By name. Rates in percent of the lookups (distinct units of steps).
using Figures = std::map<std::string, double>;

// Arena sizes of the budget curve, as the report that published it names them: 30 would hold all.
inline constexpr int kAllGb = 30;
inline constexpr int kHalfGb = 15;
inline constexpr int kCurveGb[] = {4, 8, 10, 12, kHalfGb, 18};

// All figures of one seed of traffic, the control's included:
//   "lru cold", "half pinned", "belady", "lfu carried", "lfu warm"    at half residency
//   "static 15", "lru warm 15"                    likewise for each of kCurveGb
//   "streams 2", "streams 4"                      warm LRU
//   "distinct 2".."distinct 5"                    of rows that follow each other in a pass
//   "pass repeats"    P(in a layer's pass | in the layer's pass before)
//   "row repeats"     the same for rows
//   "working set"     median over requests, units of a layer
//   "first touches"   share of the misses of "lru cold"
//   "independent static", "independent lru", "independent belady"
Result<Figures> MeasureFigures(const FigureOptions& options);

}  // namespace berth::bench

#endif  // BERTH_BENCH_SYNTH_FIGURES_H_
