#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/csv/layer_expert_csv.h"
#include "io/file/byte_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto csv = berth::io::LayerExpertCsv::Open(
      std::make_unique<berth::io::MemorySource>("fuzz", std::as_bytes(std::span(data, size))));
  if (!csv.ok()) return 0;
  berth::io::LayerExpert access;
  while (true) {
    const auto more = (*csv)->Next(&access);
    if (!more.ok() || !*more) return 0;
  }
}
