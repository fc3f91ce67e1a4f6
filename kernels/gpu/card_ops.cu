#include <algorithm>

#include "kernels/gpu/card_code.h"
#include "kernels/gpu/card_ops.h"
#include "kernels/gpu/card_warp.h"

namespace berth::kernels::gpu {
namespace {

struct TableUpdate {
  const std::byte** table;
  uint32_t count;
  TableEntry entries[kMaxTableEntries];
};

BERTH_KERNEL(32, 1) UpdateTableKernel(const BERTH_GRID_CONSTANT TableUpdate update) {
  const uint32_t i = ThreadIndex();
  if (i < update.count) update.table[update.entries[i].unit] = update.entries[i].address;
}

constexpr uint32_t kCopyThreads = 256;
constexpr uint32_t kCopyBlocks = 32;  // each of them has 16 KiB on its way
constexpr uint32_t kWordsAtOnce = 4;

struct CopyPart {
  const unsigned char* from;
  unsigned char* to;
  size_t bytes;
};
struct CopyParts {
  uint32_t count;
  CopyPart parts[kMaxCopySegments];
};

struct alignas(16) Sixteen {
  uint32_t words[4];
};

// Thread `first` of `stride` threads copies every stride-th element.
template <typename T>
BERTH_CARD_ONLY void CopyElements(const unsigned char* from, unsigned char* to, size_t count,
                                  size_t first, size_t stride) {
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  size_t i = first;
  // Several loads before the first store: what comes over the link takes microseconds.
  for (; i + (kWordsAtOnce - 1) * stride < count; i += kWordsAtOnce * stride) {
    T held[kWordsAtOnce];
    BERTH_UNROLL
    for (uint32_t w = 0; w < kWordsAtOnce; ++w) held[w] = source[i + w * stride];
    BERTH_UNROLL
    for (uint32_t w = 0; w < kWordsAtOnce; ++w) target[i + w * stride] = held[w];
  }
  for (; i < count; i += stride) target[i] = source[i];
}

BERTH_KERNEL(kCopyThreads, 1) CopyKernel(const BERTH_GRID_CONSTANT CopyParts copy) {
  const size_t first = BlockIndex() * static_cast<size_t>(kCopyThreads) + ThreadIndex();
  const size_t stride = GridBlocks() * static_cast<size_t>(kCopyThreads);
  for (uint32_t p = 0; p < copy.count; ++p) {
    const CopyPart part = copy.parts[p];
    const uintptr_t from = reinterpret_cast<uintptr_t>(part.from);
    const uintptr_t to = reinterpret_cast<uintptr_t>(part.to);
    const size_t grain = (from ^ to) % 16 == 0 ? 16 : (from ^ to) % 4 == 0 ? 4 : 1;
    // Bytes before and behind what can be copied in whole elements.
    size_t head = (grain - to % grain) % grain;
    if (head > part.bytes) head = part.bytes;
    const size_t count = (part.bytes - head) / grain;
    const size_t tail = head + count * grain;
    CopyElements<unsigned char>(part.from, part.to, head, first, stride);
    if (grain == 16) {
      CopyElements<Sixteen>(part.from + head, part.to + head, count, first, stride);
    } else if (grain == 4) {
      CopyElements<uint32_t>(part.from + head, part.to + head, count, first, stride);
    } else {
      CopyElements<unsigned char>(part.from + head, part.to + head, count, first, stride);
    }
    CopyElements<unsigned char>(part.from + tail, part.to + tail, part.bytes - tail, first, stride);
  }
}

}  // namespace

gpuError_t LaunchTableUpdate(const std::byte** table, std::span<const TableEntry> entries,
                             gpuStream_t stream) {
  TableUpdate update{table, static_cast<uint32_t>(entries.size()), {}};
  std::copy(entries.begin(), entries.end(), update.entries);
  return gpuLaunch(UpdateTableKernel, 1, 32, 0, stream, false, update);
}

gpuError_t LaunchCopy(std::span<const CopySegment> segments, gpuStream_t stream) {
  CopyParts copy{static_cast<uint32_t>(segments.size()), {}};
  size_t longest = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    copy.parts[i] = {reinterpret_cast<const unsigned char*>(segments[i].from),
                     reinterpret_cast<unsigned char*>(segments[i].to), segments[i].bytes};
    longest = std::max(longest, segments[i].bytes);
  }
  const size_t per_block = kCopyThreads * sizeof(Sixteen);
  const uint32_t blocks = static_cast<uint32_t>(
      std::clamp<size_t>((longest + per_block - 1) / per_block, 1, kCopyBlocks));
  return gpuLaunch(CopyKernel, blocks, kCopyThreads, 0, stream, false, copy);
}

}  // namespace berth::kernels::gpu
