// The small kernels of a card's streams: the pointer table and copies that no engine makes.
#ifndef BERTH_KERNELS_GPU_CARD_OPS_H_
#define BERTH_KERNELS_GPU_CARD_OPS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/device.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

// Entries of table[units]; all units are in range. At most kMaxTableEntries.
gpuError_t LaunchTableUpdate(const std::byte** table, std::span<const TableEntry> entries,
                             gpuStream_t stream);
// Segments whose two sides the card reads and writes: its own memory, or mapped host memory. At
// most kMaxCopySegments, each in 16-byte pieces as far as its two sides are aligned alike.
gpuError_t LaunchCopy(std::span<const CopySegment> segments, gpuStream_t stream);

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CARD_OPS_H_
