#include "runtime/trace/stats/quantiles.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace berth::trace {

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Spread SpreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  return {*min, MedianOf(values), *max};
}

size_t Histogram::Bucket(uint64_t value) {
  if (value < kExact) return static_cast<size_t>(value);
  // 64 steps between a power of two and the next.
  const int octave = std::bit_width(value) - 1;
  const uint64_t step = (value >> (octave - 6)) - kPerOctave;
  const auto first = static_cast<uint64_t>(octave - (std::bit_width(kExact) - 1));
  return static_cast<size_t>(kExact + first * kPerOctave + step);
}

double Histogram::Value(size_t bucket) {
  if (bucket < kExact) return static_cast<double>(bucket);
  const size_t beyond = bucket - kExact;
  const int octave = static_cast<int>(beyond / kPerOctave) + (std::bit_width(kExact) - 1);
  const double low = static_cast<double>(kPerOctave + beyond % kPerOctave);
  return std::ldexp(low + 0.5, octave - 6);  // the middle of the step
}

void Histogram::Add(uint64_t value) {
  const size_t bucket = Bucket(value);
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  ++counts_[bucket];
  ++count_;
}

double Histogram::Quantile(double share) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
  uint64_t below = 0;
  for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    below += counts_[bucket];
    if (below >= std::max<uint64_t>(rank, 1)) return Value(bucket);
  }
  return Value(counts_.size() - 1);
}

}  // namespace berth::trace
