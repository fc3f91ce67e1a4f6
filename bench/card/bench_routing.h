// Which experts the rows of a step route to, layer by layer: at random, or as a trace says.
#ifndef BERTH_BENCH_CARD_BENCH_ROUTING_H_
#define BERTH_BENCH_CARD_BENCH_ROUTING_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/expert_load.h"
#include "berth/status.h"

namespace berth::bench {

struct BenchRouting {
  uint32_t layers = 0;
  uint32_t rows = 0;
  uint32_t top_k = 0;
  std::vector<int32_t> ids;  // [layers][rows][top_k]

  std::span<const int32_t> OfLayer(uint32_t layer) const;
  std::vector<uint32_t> DistinctOfLayer(uint32_t layer) const;  // ascending
  double DistinctPerLayer() const;
  double PairsPerLayer() const;
};

// Each row to top_k distinct experts, each as likely.
BenchRouting UniformRouting(const ExpertShape& shape, uint32_t layers, uint32_t rows);
// The first rows of a trace (from its start again where it has fewer), its layers in turn.
// InvalidArgument where it has more experts than the shape.
Result<BenchRouting> TraceRouting(const std::string& path, const ExpertShape& shape,
                                  uint32_t layers, uint32_t rows);

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_BENCH_ROUTING_H_
