// What copies to and from a card cost, and the small things that go with them.
#ifndef BERTH_RUNTIME_PROBE_LINK_PROBE_H_
#define BERTH_RUNTIME_PROBE_LINK_PROBE_H_

#include <cstdint>
#include <span>

#include "berth/status.h"
#include "kernels/device.h"
#include "runtime/config/machine_profile.h"
#include "runtime/probe/timing.h"

namespace berth::probe {

// Rates of copies of several sizes, those of units among them, one behind the other; both
// directions at once; what a copy costs the thread that enqueues it and until it is known to be
// over. Twice `buffer_bytes` of host memory and as many on the card.
Result<LinkProfile> ProbeLink(kernels::Device* device, std::span<const uint64_t> unit_bytes,
                              uint64_t buffer_bytes, const TimingOptions& timing);
// Which is the faster one for copies of units to the card: `device`, by its driver's copies, or
// `by_kernel`, the same card opened with CopyPath::kKernel. Sets what the profile says of it.
Status ProbeCopyPath(kernels::Device* device, kernels::Device* by_kernel, uint64_t unit_bytes,
                     uint64_t buffer_bytes, const TimingOptions& timing, LinkProfile* profile);
// Seconds of a pointer table's update; makes the device's table.
Result<double> ProbeTable(kernels::Device* device, const TimingOptions& timing);

}  // namespace berth::probe

#endif  // BERTH_RUNTIME_PROBE_LINK_PROBE_H_
