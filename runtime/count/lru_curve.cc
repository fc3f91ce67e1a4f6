#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "runtime/count/count.h"
#include "runtime/count/pool_layout.h"
#include "runtime/count/step_reader.h"
#include "runtime/trace/stats/lru_stack.h"

namespace berth {
namespace {

using count::Pool;
using count::PoolLayout;
using count::Run;
using count::StepBlock;
using count::StepReader;
using trace::LruStack;

class CurveCounter {
 public:
  explicit CurveCounter(const PoolLayout& layout) : layout_(layout) {
    for (const Pool& pool : layout.pools) stacks_.emplace_back(pool.range_units, pool.units);
    for (const uint32_t pool : layout.pool_of_layer) {
      hits_.emplace_back(layout.pools[pool].units + 1);
    }
  }

  void Play(const StepBlock& block, Granularity granularity) {
    if (block.reset) {
      for (LruStack& stack : stacks_) stack.Forget();
    }
    depths_.resize(block.units.size());
    uint32_t begin = 0;
    for (const Run& run : block.runs) {
      const auto units = std::span(block.units).subspan(begin, run.end - begin);
      FindDepths(run.layer, units, granularity, depths_.data() + begin);
      begin = run.end;
    }
    // In a loop of its own, because the counts of all layers and depths are out of reach of a cache
    // and their misses should overlap.
    if (!block.counted) return;
    begin = 0;
    for (const Run& run : block.runs) {
      uint64_t* const hits = hits_[run.layer].data();
      for (; begin < run.end; ++begin) ++hits[depths_[begin]];
    }
  }

  LruCurve Finish(const std::vector<uint64_t>& layer_lookups) const {
    LruCurve curve;
    curve.layer_lookups = layer_lookups;
    curve.lookups = std::accumulate(layer_lookups.begin(), layer_lookups.end(), uint64_t{0});
    for (const Pool& pool : layout_.pools) curve.pool_misses.emplace_back(pool.units + 1);
    for (size_t layer = 0; layer < hits_.size(); ++layer) {
      std::vector<uint64_t>& of_pool = curve.pool_misses[layout_.pool_of_layer[layer]];
      std::vector<uint64_t>& misses = curve.layer_misses.emplace_back(of_pool.size());
      uint64_t left = layer_lookups[layer];
      for (size_t slots = 0; slots < misses.size(); ++slots) {
        if (slots > 0) left -= hits_[layer][slots];
        misses[slots] = left;
        of_pool[slots] += left;
      }
    }
    return curve;
  }

 private:
  // What is found is decided when a step begins; only then are its units used.
  void FindDepths(uint32_t layer, std::span<const UnitIndex> units, Granularity granularity,
                  uint32_t* depths) {
    const uint32_t pool = layout_.pool_of_layer[layer];
    LruStack& stack = stacks_[pool];
    const UnitIndex first = layout_.pools[pool].first_unit;
    for (const UnitIndex unit : units) {
      *depths++ = stack.Depth(unit - first);
      if (granularity == Granularity::kAccess) stack.Use(unit - first);
    }
    if (granularity == Granularity::kAccess) return;
    for (const UnitIndex unit : units) stack.Use(unit - first);
  }

  const PoolLayout& layout_;
  std::vector<LruStack> stacks_;             // of each pool
  std::vector<uint32_t> depths_;             // of the block at hand
  std::vector<std::vector<uint64_t>> hits_;  // [layer][depth]; at 0 those never used before
};

}  // namespace

Result<LruCurve> CountLruCurve(TraceFile* trace, const CountWorkload& workload,
                               const CountOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const PoolLayout layout, count::MakePoolLayout(trace->info(), workload));
  BERTH_ASSIGN_OR_RETURN(StepReader reader, StepReader::Create(trace, workload));
  CurveCounter counter(layout);
  StepBlock block;
  while (true) {
    BERTH_ASSIGN_OR_RETURN(const bool more, reader.Next(&block));
    if (!more) break;
    counter.Play(block, workload.granularity);
    if (options.progress) options.progress(reader.passes_read(), reader.passes());
  }
  return counter.Finish(reader.layer_lookups());
}

}  // namespace berth
