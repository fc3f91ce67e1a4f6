#include <cstddef>
#include <cstdint>
#include <span>

#include "io/file/byte_source.h"
#include "io/gguf/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  // Headers of real files state sizes far beyond a fuzzer's input: let the data section be there.
  for (const uint64_t claimed_bytes : {uint64_t{size}, uint64_t{size} + (uint64_t{1} << 40)}) {
    const auto file = berth::io::ParseGguf(berth::io::MemorySource("fuzz", bytes, claimed_bytes));
    if (!file.ok()) continue;
    for (const auto& entry : file->metadata) {
      (void)entry.AsUint();
      (void)entry.AsString();
      (void)entry.AsUintArray();
    }
    for (const auto& tensor : file->tensors) {
      if (tensor.offset + tensor.room_bytes > claimed_bytes) __builtin_trap();
    }
  }
  return 0;
}
