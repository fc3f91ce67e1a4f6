#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/file/byte_source.h"
#include "runtime/trace/heat_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const uint32_t layers : {0u, 2u}) {
    const auto heat = berth::ParseHeat(
        std::make_unique<berth::io::MemorySource>("fuzz", std::as_bytes(std::span(data, size))),
        layers, 0);
    if (!heat.ok()) continue;
    if (heat->heat.size() != size_t{heat->layers} * heat->experts) __builtin_trap();
    if (layers != 0 && heat->layers != layers) __builtin_trap();
    uint64_t known = 0;
    for (const double each : heat->heat) {
      if (!std::isfinite(each) || each < 0) __builtin_trap();
      known += each > 0;
    }
    if (known != heat->known) __builtin_trap();
  }
  return 0;
}
