#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/csv/route_csv.h"
#include "io/file/byte_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto csv = berth::io::RouteCsv::Open(
      std::make_unique<berth::io::MemorySource>("fuzz", std::as_bytes(std::span(data, size))));
  if (!csv.ok()) return 0;
  const berth::io::RouteHeader& header = (*csv)->header();
  berth::io::RouteRecord record;
  while (true) {
    const auto more = (*csv)->Next(&record);
    if (!more.ok() || !*more) return 0;
    if (record.expert >= header.experts || record.layer >= header.layers.size()) __builtin_trap();
  }
}
