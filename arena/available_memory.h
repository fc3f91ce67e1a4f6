// How much memory this process may still take: what the machine has available, or what the control
// groups above the process leave, whichever is less.
#ifndef BERTH_ARENA_AVAILABLE_MEMORY_H_
#define BERTH_ARENA_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <string>

#include "berth/status.h"

namespace berth::arena {

// AvailableHostBytes() with /proc and /sys under `root` ("" for the real ones; tests give a
// folder).
Result<uint64_t> AvailableHostBytesUnder(const std::string& root);

}  // namespace berth::arena

#endif  // BERTH_ARENA_AVAILABLE_MEMORY_H_
