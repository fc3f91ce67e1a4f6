// What a TraceInfo must fulfil, whoever made it: a file's reader, a generator, an importer.
#ifndef BERTH_RUNTIME_TRACE_INFO_H_
#define BERTH_RUNTIME_TRACE_INFO_H_

#include <cstddef>
#include <cstdint>

#include "berth/status.h"
#include "io/safetensors/safetensors.h"
#include "runtime/trace/metadata.h"
#include "runtime/trace/trace.h"

namespace berth::trace {

// layers x top_k of a trace: a row of every column together stays small, so that windows do.
inline constexpr uint64_t kMaxRowEntries = 1u << 20;

// The shape alone: every number from 1 to its limit, top_k within experts. InvalidArgument names
// the number.
Status CheckTraceShape(uint64_t layers, uint64_t experts, uint64_t top_k);
// The shape, and every list against what it belongs to: counts that sum to the rows, one label and
// one stream a request, one block number and one unit size a layer.
Status CheckTraceInfo(const TraceInfo& info);

// How ids are written: the narrowest type whose last value is no expert's id.
struct IdFormat {
  io::SafetensorsType type;
  uint32_t bytes;
  int32_t none;
};
IdFormat NarrowestIds(uint32_t experts);

Metadata MetadataOf(const TraceInfo& info, int64_t none);

// "row 7, layer 2: expert id 99, but the trace has 64 experts"
Status IdOutOfRange(const TraceInfo& info, uint64_t row, size_t entry, int64_t id);

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_INFO_H_
