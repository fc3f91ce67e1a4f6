#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "io/file/byte_source.h"
#include "runtime/trace/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto trace = berth::TraceFile::Parse(
      std::make_unique<berth::io::MemorySource>("fuzz", std::as_bytes(std::span(data, size))));
  if (!trace.ok()) return 0;
  const berth::TraceInfo& info = (*trace)->info();
  const auto check = [&](const berth::Result<std::span<const int32_t>>& ids) {
    if (!ids.ok()) return;
    for (int32_t id : *ids) {
      if (id < -1 || id >= static_cast<int64_t>(info.experts)) __builtin_trap();
    }
  };
  for (uint64_t row = 0; row < std::min<uint64_t>(info.rows, 64); ++row) {
    check((*trace)->Experts(row));
    for (uint32_t ahead = 1; ahead <= 2; ++ahead) check((*trace)->Predicted(row, ahead));
    (void)(*trace)->Weights(row);
  }
  return 0;
}
