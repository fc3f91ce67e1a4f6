// Resident memory of this process, as the kernel counts it.
#ifndef BERTH_RUNTIME_RUN_PROCESS_MEMORY_H_
#define BERTH_RUNTIME_RUN_PROCESS_MEMORY_H_

#include <cstdint>

namespace berth {

// Peak since the start or the last reset; 0 where /proc does not tell.
uint64_t PeakResidentBytes();
void ResetPeakResidentBytes();

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_PROCESS_MEMORY_H_
