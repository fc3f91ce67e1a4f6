// BufferTable: the caller's memory as the kernel takes it for registration, in chunks of at most
// 1 GiB, and which chunk a destination lies in.
#ifndef BERTH_IO_STORAGE_BUFFER_TABLE_H_
#define BERTH_IO_STORAGE_BUFFER_TABLE_H_

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <vector>

#include "io/storage.h"

namespace berth::io {

class BufferTable {
 public:
  // The kernel's limits on one registered buffer and on their number.
  static constexpr uint64_t kChunkBytesMax = 1ull << 30;
  static constexpr size_t kChunksMax = 16'384;

  BufferTable() = default;
  explicit BufferTable(std::span<const BufferRegion> regions,
                       uint64_t chunk_bytes = kChunkBytesMax);

  std::span<const iovec> chunks() const { return chunks_; }
  uint64_t bytes() const { return bytes_; }
  // Index of the chunk that holds all of the range, or -1: such a read goes unregistered.
  int Find(const std::byte* begin, uint32_t length) const;

 private:
  std::vector<iovec> chunks_;  // by address
  uint64_t bytes_ = 0;
};

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_BUFFER_TABLE_H_
