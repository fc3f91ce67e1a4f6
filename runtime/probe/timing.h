// Times variants of one piece of work in turns, and chooses among them.
#ifndef BERTH_RUNTIME_PROBE_TIMING_H_
#define BERTH_RUNTIME_PROBE_TIMING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "berth/status.h"

namespace berth::probe {

struct TimingOptions {
  uint32_t rounds = 7;       // that take all variants in turns; the median counts
  double batch_s = 3e-3;     // what runs in a row takes at least so long,
  uint32_t most_times = 64;  // but is no more than so many
  double budget_s = 1;       // of all rounds together: fewer of them where they take longer
};

// Runs a variant so many times in a row and returns the seconds of all.
using TimeVariant = std::function<Result<double>(size_t variant, uint32_t times)>;

// Seconds of one run of each variant. One that takes several times as long as the fastest is not
// run more often than it takes to know that.
Result<std::vector<double>> TimeInTurns(size_t variants, const TimingOptions& options,
                                        const TimeVariant& time);

// The same of one thing alone.
Result<double> TimeAlone(const TimingOptions& options,
                         const std::function<Result<double>(uint32_t times)>& time);

// The fastest; but the first, which is what runs unasked, unless another is faster by more than
// what a repetition may differ by (2 %).
size_t ChooseFastest(std::span<const double> seconds);

}  // namespace berth::probe

#endif  // BERTH_RUNTIME_PROBE_TIMING_H_
