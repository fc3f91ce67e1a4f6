#include "runtime/run/prefetch_choice.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace berth {
namespace {

// What a choice may lose against the fastest, so that noise between much alike budgets does not
// move more bytes than needed.
constexpr double kAlike = 1.01;
constexpr uint64_t kMostTrialPasses = 1000;

}  // namespace

Result<PrefetchChoice> ChoosePrefetch(std::span<const uint64_t> layer_unit_bytes,
                                      uint32_t most_units, const SimulateBudget& simulate) {
  uint64_t unit_bytes = 0;
  for (const uint64_t bytes : layer_unit_bytes) unit_bytes = std::max(unit_bytes, bytes);
  PrefetchChoice choice;
  const auto attempt = [&](uint64_t step_bytes) -> Status {
    BERTH_ASSIGN_OR_RETURN(const double seconds, simulate(step_bytes));
    if (!std::isfinite(seconds) || seconds < 0) {
      return InternalError("--prefetch auto: a budget of " + std::to_string(step_bytes) +
                           " bytes was simulated to take " + std::to_string(seconds) + " s");
    }
    choice.trials.push_back({step_bytes, seconds});
    return Status();
  };
  BERTH_RETURN_IF_ERROR(attempt(0));
  for (uint64_t units = 1; units <= most_units; units *= 2) {
    BERTH_RETURN_IF_ERROR(attempt(units * unit_bytes));
  }
  double fastest = choice.trials.front().seconds;
  for (const PrefetchTrial& trial : choice.trials) fastest = std::min(fastest, trial.seconds);
  // Trials are in order of their budgets.
  choice.step_bytes = std::find_if(choice.trials.begin(), choice.trials.end(),
                                   [fastest](const PrefetchTrial& trial) {
                                     return trial.seconds <= fastest * kAlike;
                                   })
                          ->step_bytes;
  return choice;
}

uint64_t PrefetchTrialPasses(uint64_t passes) {
  return std::min(kMostTrialPasses, (passes + 1) / 2);
}

uint32_t MostPrefetchUnits(uint32_t experts, uint32_t top_k, uint32_t max_rows) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(experts, static_cast<uint64_t>(top_k) * std::max(1u, max_rows)));
}

}  // namespace berth
