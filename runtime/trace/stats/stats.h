// What a trace is like: how uneven, how repetitive, how predictable its routing is. What decides
// whether a cache of units helps, before any policy is tried.
#ifndef BERTH_RUNTIME_TRACE_STATS_STATS_H_
#define BERTH_RUNTIME_TRACE_STATS_STATS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth {

struct Spread {
  double min = 0, median = 0, max = 0;
};
struct Quartiles {
  double lower = 0, median = 0, upper = 0;
};

struct TraceStats {
  TraceInfo info;
  uint64_t file_bytes = 0;
  uint64_t passes = 0;
  // Rows of passes of several rows, and of passes of one.
  uint64_t prompt_rows = 0, decode_rows = 0;
  uint32_t longest_pass_rows = 1;

  // A look-up is one routed entry.
  uint64_t lookups = 0;
  uint64_t units_used = 0;
  uint64_t units_used_once = 0;
  // Look-ups of a unit that its request had not used before.
  uint64_t first_touches = 0;

  // Per layer: the share of its look-ups that go to its hottest 10, 25 and 50 % of experts
  // (rounded up), Gini's coefficient (0 even, towards 1 one expert), entropy in bits and as a share
  // of log2(experts). Layers without a look-up are left out.
  std::array<Spread, 3> hottest_share;
  Spread gini;
  Spread entropy_bits, entropy_normalized;

  // Between two look-ups of one unit: distinct units looked up in between (in all layers; in its
  // own), and passes. A look-up hits an LRU of more units than its distance. Exact, but passes from
  // 4096 up, which are within 2 %.
  uint64_t reuses = 0;
  Quartiles reuse_units, reuse_layer_units, reuse_passes;

  // Of the experts of a row's layer, those that its request's next row routes to again.
  double repeat_probability = 0;
  uint64_t repeat_pairs = 0;  // entries that this is a mean over

  // Distinct experts that one request uses in one layer, and distinct units in all.
  double working_set_experts_median = 0, working_set_units_median = 0;
  uint32_t working_set_experts_max = 0;
  uint64_t working_set_units_max = 0;

  // Distinct experts of a layer, mean: of 1..8 rows of a request that follow each other, and of
  // the rows that 1..8 requests have at the same time. 0 where the trace has not as many.
  static constexpr uint32_t kMaxUnion = 8;
  std::array<double, kMaxUnion> rows_union{}, streams_union{};

  // Share of a layer's routed experts that were predicted 1 and 2 layers ahead.
  std::array<double, 2> recall{};
};

// Reads the file several times, through windows: memory is a few words for each unit of the
// trace, and one for each layer of each request. `progress` is told of rows done of all (over all readings).
Result<TraceStats> AnalyzeTrace(
    const std::string& path,
    const std::function<void(uint64_t done, uint64_t rows)>& progress = {});

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_STATS_STATS_H_
