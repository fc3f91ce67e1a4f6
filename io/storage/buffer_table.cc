#include "io/storage/buffer_table.h"

#include <algorithm>

namespace berth::io {
namespace {

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

BufferTable::BufferTable(std::span<const BufferRegion> regions, uint64_t chunk_bytes) {
  for (const BufferRegion& region : regions) {
    for (uint64_t at = 0; at < region.bytes; at += chunk_bytes) {
      chunks_.push_back({region.begin + at, std::min<uint64_t>(chunk_bytes, region.bytes - at)});
    }
    bytes_ += region.bytes;
  }
  std::sort(chunks_.begin(), chunks_.end(), [](const iovec& a, const iovec& b) {
    return Address(a.iov_base) < Address(b.iov_base);
  });
}

int BufferTable::Find(const std::byte* begin, uint32_t length) const {
  const uintptr_t address = Address(begin);
  const auto after = std::upper_bound(
      chunks_.begin(), chunks_.end(), address,
      [](uintptr_t value, const iovec& chunk) { return value < Address(chunk.iov_base); });
  if (after == chunks_.begin()) return -1;
  const auto chunk = after - 1;
  const uint64_t head = address - Address(chunk->iov_base);
  if (head > chunk->iov_len || chunk->iov_len - head < length) return -1;
  return static_cast<int>(chunk - chunks_.begin());
}

}  // namespace berth::io
