#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/file/byte_source.h"
#include "io/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using berth::io::SafetensorsFile;
  const auto file = SafetensorsFile::Parse(
      std::make_unique<berth::io::MemorySource>("fuzz", std::as_bytes(std::span(data, size))));
  if (!file.ok()) return 0;
  for (const berth::io::SafetensorsTensor& tensor : file->tensors()) {
    // What was accepted can be read to its last byte.
    std::vector<std::byte> bytes(tensor.bytes);
    if (!file->Read(tensor, 0, bytes).ok()) __builtin_trap();
  }
  return 0;
}
