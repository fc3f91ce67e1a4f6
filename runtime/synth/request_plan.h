// What differs between the requests of a synthetic trace: how long each is, how peaked its taste.
//
// Both are the quantiles of a distribution, dealt out in an order that follows from the seed. So
// two seeds give the same mixture of requests, and figures of few requests scatter less.
#ifndef BERTH_RUNTIME_SYNTH_REQUEST_PLAN_H_
#define BERTH_RUNTIME_SYNTH_REQUEST_PLAN_H_

#include <cstdint>
#include <vector>

#include "runtime/synth/options.h"

namespace berth::synth {

struct RequestPlan {
  uint32_t passes = 1;  // of decode, at least 1; options.passes in all
  double sigma = 0;     // its own
};

std::vector<RequestPlan> PlanRequests(const SynthOptions& options);

}  // namespace berth::synth

#endif  // BERTH_RUNTIME_SYNTH_REQUEST_PLAN_H_
