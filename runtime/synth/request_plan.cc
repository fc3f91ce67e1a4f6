#include "runtime/synth/request_plan.h"

#include <algorithm>
#include <utility>

#include "runtime/synth/random.h"

namespace berth::synth {
namespace {

// Of the request at quantile `at` in (0, 1), in long requests.
double RelativeLength(const SynthOptions& options, double at) {
  const double share = options.short_share;
  if (at < share) return options.short_length * (0.5 + at / share);
  return 0.8 + 0.4 * (at - share) / (1 - share);
}

void Shuffle(CounterRandom random, std::vector<double>* values) {
  for (size_t left = values->size(); left > 1; --left) {
    std::swap((*values)[left - 1], (*values)[random.Below(left)]);
  }
}

}  // namespace

std::vector<RequestPlan> PlanRequests(const SynthOptions& options) {
  const uint32_t requests = options.requests;
  std::vector<double> lengths(requests), sigmas(requests);
  double sum = 0;
  for (uint32_t request = 0; request < requests; ++request) {
    const double quantile = (request + 0.5) / requests;
    lengths[request] = RelativeLength(options, quantile);
    sum += lengths[request];
    sigmas[request] = options.sigma *
                      (options.sigma_least + (options.sigma_most - options.sigma_least) * quantile);
  }
  Shuffle(CounterRandom(options.seed, Purpose::kLengths), &lengths);
  Shuffle(CounterRandom(options.seed, Purpose::kSigmas), &sigmas);

  // Each has its one pass; the others are shared by cutting a line, so that they add up.
  const uint64_t others = options.passes - requests;
  std::vector<RequestPlan> plan(requests);
  uint64_t given = 0;
  double reached = 0;
  for (uint32_t request = 0; request < requests; ++request) {
    reached += lengths[request];
    const auto cut = static_cast<uint64_t>(static_cast<double>(others) * (reached / sum));
    const uint64_t end = request + 1 == requests ? others : std::min(cut, others);
    plan[request] = {static_cast<uint32_t>(1 + end - given), sigmas[request]};
    given = end;
  }
  return plan;
}

}  // namespace berth::synth
