// Medians and quartiles: of few values, of a count for each value, of values without bound.
#ifndef BERTH_RUNTIME_TRACE_STATS_QUANTILES_H_
#define BERTH_RUNTIME_TRACE_STATS_QUANTILES_H_

#include <cstdint>
#include <vector>

#include "runtime/trace/stats/stats.h"

namespace berth::trace {

Spread SpreadOf(std::vector<double> values);  // all 0 without values
double MedianOf(std::vector<double> values);

// How often each whole number came: exact up to 4095, within 1/64 of the value above. Memory
// grows with the largest value only up to there.
class Histogram {
 public:
  void Add(uint64_t value);
  uint64_t count() const { return count_; }
  // The value that `share` of all are not above; 0 without values.
  double Quantile(double share) const;
  Quartiles All() const { return {Quantile(0.25), Quantile(0.5), Quantile(0.75)}; }

 private:
  static constexpr uint64_t kExact = 4096;
  static constexpr uint32_t kPerOctave = 64;
  static size_t Bucket(uint64_t value);
  static double Value(size_t bucket);

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
};

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_STATS_QUANTILES_H_
