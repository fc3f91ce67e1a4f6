#include "runtime/synth/request_lengths.h"

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

}  // namespace

std::vector<uint32_t> RequestPasses(const SynthOptions& options) {
  const uint32_t requests = options.requests;
  std::vector<double> lengths(requests);
  double sum = 0;
  for (uint32_t request = 0; request < requests; ++request) {
    lengths[request] = RelativeLength(options, (request + 0.5) / requests);
    sum += lengths[request];
  }
  CounterRandom random(options.seed, Purpose::kLengths);
  for (uint32_t left = requests; left > 1; --left) {
    std::swap(lengths[left - 1], lengths[random.Below(left)]);
  }
  // Each has its one pass; the others are shared by cutting a line, so that they add up.
  const auto others = static_cast<double>(options.passes - requests);
  std::vector<uint32_t> passes(requests);
  uint64_t given = 0;
  double reached = 0;
  for (uint32_t request = 0; request < requests; ++request) {
    reached += lengths[request];
    const uint64_t end = request + 1 == requests ? options.passes - requests
                                                 : static_cast<uint64_t>(others * (reached / sum));
    passes[request] = static_cast<uint32_t>(1 + end - given);
    given = end;
  }
  return passes;
}

}  // namespace berth::synth
