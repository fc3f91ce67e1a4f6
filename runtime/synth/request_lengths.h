// How many decode passes each request of a synthetic trace has.
#ifndef BERTH_RUNTIME_SYNTH_REQUEST_LENGTHS_H_
#define BERTH_RUNTIME_SYNTH_REQUEST_LENGTHS_H_

#include <cstdint>
#include <vector>

#include "runtime/synth/options.h"

namespace berth::synth {

// One figure per request, at least 1, options.passes in all. The lengths are the quantiles of their
// distribution in an order that follows from the seed: two seeds give the same mixture.
std::vector<uint32_t> RequestPasses(const SynthOptions& options);

}  // namespace berth::synth

#endif  // BERTH_RUNTIME_SYNTH_REQUEST_LENGTHS_H_
