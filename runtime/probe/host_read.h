// How fast this machine's processors read its memory.
#ifndef BERTH_RUNTIME_PROBE_HOST_READ_H_
#define BERTH_RUNTIME_PROBE_HOST_READ_H_

#include <cstdint>
#include <span>

#include "berth/status.h"
#include "runtime/probe/timing.h"

namespace berth::probe {

// Bytes a second of so many threads over `bytes` of memory, no more than a quarter of what is
// available. `processors` as a worker pool takes them.
Result<double> HostReadRate(uint64_t bytes, uint32_t threads, std::span<const uint32_t> processors,
                            const TimingOptions& timing);

}  // namespace berth::probe

#endif  // BERTH_RUNTIME_PROBE_HOST_READ_H_
