#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/file/byte_source.h"
#include "io/npy/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = berth::io::NpyFile::Parse(
      std::make_unique<berth::io::MemorySource>("fuzz", std::as_bytes(std::span(data, size))));
  if (!file.ok()) return 0;
  if (file->items() * file->item_bytes() > size) __builtin_trap();
  std::array<int64_t, 64> items;
  const uint64_t count = std::min<uint64_t>(items.size(), file->items());
  (void)file->Read(0, std::span(items).first(count));
  (void)file->Read(file->items() - count, std::span(items).first(count));
  return 0;
}
