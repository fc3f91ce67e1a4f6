// The median of measurements.
#ifndef BERTH_RUNTIME_BASE_MEDIAN_H_
#define BERTH_RUNTIME_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {

// Of an even number of values the mean of the two in the middle; 0 of none.
inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_MEDIAN_H_
