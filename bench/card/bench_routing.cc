#include "bench/card/bench_routing.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "runtime/trace/trace.h"

namespace berth::bench {

std::span<const int32_t> BenchRouting::OfLayer(uint32_t layer) const {
  const size_t pairs = size_t{rows} * top_k;
  return std::span<const int32_t>(ids).subspan(layer * pairs, pairs);
}

std::vector<uint32_t> BenchRouting::DistinctOfLayer(uint32_t layer) const {
  std::vector<uint32_t> experts;
  for (const int32_t id : OfLayer(layer)) {
    if (id >= 0) experts.push_back(static_cast<uint32_t>(id));
  }
  std::sort(experts.begin(), experts.end());
  experts.erase(std::unique(experts.begin(), experts.end()), experts.end());
  return experts;
}

double BenchRouting::DistinctPerLayer() const {
  size_t sum = 0;
  for (uint32_t layer = 0; layer < layers; ++layer) sum += DistinctOfLayer(layer).size();
  return static_cast<double>(sum) / layers;
}

double BenchRouting::PairsPerLayer() const {
  const auto somebody = [](int32_t id) { return id >= 0; };
  return static_cast<double>(std::count_if(ids.begin(), ids.end(), somebody)) / layers;
}

BenchRouting UniformRouting(const ExpertShape& shape, uint32_t layers, uint32_t rows) {
  BenchRouting routing = {layers, rows, shape.top_k, {}};
  std::mt19937_64 random(rows);
  std::vector<int32_t> experts(shape.experts);
  std::iota(experts.begin(), experts.end(), 0);
  for (uint32_t i = 0; i < layers * rows; ++i) {
    for (uint32_t k = 0; k < shape.top_k; ++k) {
      std::swap(experts[k], experts[k + random() % (shape.experts - k)]);
      routing.ids.push_back(experts[k]);
    }
  }
  return routing;
}

Result<BenchRouting> TraceRouting(const std::string& path, const ExpertShape& shape,
                                  uint32_t layers, uint32_t rows) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(path));
  const TraceInfo& info = trace->info();
  if (info.experts > shape.experts || info.rows == 0) {
    return InvalidArgumentError(path + ": " + std::to_string(info.experts) + " experts and " +
                                std::to_string(info.rows) + " rows do not fit a layer of " +
                                std::to_string(shape.experts) + " experts");
  }
  BenchRouting routing = {layers, rows, info.top_k, {}};
  routing.ids.resize(size_t{layers} * rows * info.top_k);
  for (uint32_t row = 0; row < rows; ++row) {
    BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> of_row, trace->Experts(row % info.rows));
    for (uint32_t layer = 0; layer < layers; ++layer) {
      std::copy_n(of_row.begin() + layer % info.layers * info.top_k, info.top_k,
                  routing.ids.begin() + (size_t{layer} * rows + row) * info.top_k);
    }
  }
  return routing;
}

}  // namespace berth::bench
