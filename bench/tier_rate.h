// Units of a model file on their way into an arena, computing nothing.
#ifndef BERTH_BENCH_TIER_RATE_H_
#define BERTH_BENCH_TIER_RATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/runtime.h"
#include "berth/status.h"
#include "runtime/catalog/catalog.h"

namespace berth::bench {

struct TierLoad {
  std::string model;
  std::string device = "host:0";
  double seconds = 2;
  uint64_t in_flight = RuntimeOptions().read_bytes_in_flight;
};

// Bytes of an arena with `share` of every size class's units, at least the hard minimum.
uint64_t ArenaBytes(const Catalog& catalog, double share);
// A runtime that moves and does not compute, `steps` of a session under way at once.
RuntimeOptions MovingRuntime(const TierLoad& load, uint64_t arena_bytes, uint32_t steps);

// Walks through all units of the model in a scattered order that comes back to a unit only after
// all others, so that nothing is still there.
class Walk {
 public:
  Walk(uint32_t layers, uint32_t experts);
  // `count` experts of the next layer.
  uint32_t Next(uint32_t count, std::vector<int32_t>* ids);

 private:
  uint32_t layers_, experts_;
  uint64_t step_ = 0;
  std::vector<int32_t> order_;
};

// GB/s of units (10^9, alignment left out) from the file into an arena of the least size: every
// unit of every step is read and copied. `rung`: how it was read.
Result<double> TierRate(const TierLoad& load, const Catalog& catalog, std::string* rung);
// The same reads, into host memory, by themselves.
Result<double> ReadRate(const TierLoad& load, const Catalog& catalog);

}  // namespace berth::bench

#endif  // BERTH_BENCH_TIER_RATE_H_
