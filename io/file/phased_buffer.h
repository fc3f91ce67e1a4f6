// PhasedBuffer: memory whose addresses have the same remainder modulo 4096 as the file offsets they
// go to, so that the whole pages among them can be written past the page cache.
#ifndef BERTH_IO_FILE_PHASED_BUFFER_H_
#define BERTH_IO_FILE_PHASED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/math.h"

namespace berth::io {

class PhasedBuffer {
 public:
  // `bytes` of memory for file offset `offset`; what was there before is lost.
  std::span<std::byte> Prepare(size_t bytes, uint64_t offset) {
    if (memory_.size() < bytes + kIoAlign) memory_.resize(bytes + kIoAlign);
    const uint64_t at = reinterpret_cast<uintptr_t>(memory_.data()) % kIoAlign;
    const uint64_t skip = (offset % kIoAlign + kIoAlign - at) % kIoAlign;
    return {memory_.data() + skip, bytes};
  }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace berth::io

#endif  // BERTH_IO_FILE_PHASED_BUFFER_H_
