#include "runtime/trace/info.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/base/math.h"

namespace berth::trace {
namespace {

Status CheckCounts(const char* name, const std::vector<uint32_t>& counts, uint64_t rows) {
  uint64_t sum = 0;
  for (const uint32_t count : counts) {
    if (count == 0) return InvalidArgumentError(std::string("'") + name + "' has a 0");
    // Files have them as I32.
    if (count > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
      return InvalidArgumentError(std::string("'") + name + "' has " + std::to_string(count) +
                                  ", at most 2^31 - 1 rows are possible");
    }
    sum += count;
  }
  if (sum == rows) return Status();
  return InvalidArgumentError(std::string("'") + name + "' sums to " + std::to_string(sum) +
                              " rows, 'experts' has " + std::to_string(rows));
}

Status CheckOneEach(const char* name, const char* what, size_t found, size_t expected,
                    const char* of) {
  if (found == 0 || found == expected) return Status();
  return InvalidArgumentError(std::string("'") + name + "' has " + std::to_string(found) + " " +
                              what + " for " + std::to_string(expected) + " " + of);
}

Status CheckLayers(const TraceInfo& info) {
  BERTH_RETURN_IF_ERROR(
      CheckOneEach("layer_ids", "block numbers", info.layer_ids.size(), info.layers, "layers"));
  BERTH_RETURN_IF_ERROR(CheckOneEach("layer_unit_bytes", "sizes", info.layer_unit_bytes.size(),
                                     info.layers, "layers"));
  std::vector<uint32_t> ids = info.layer_ids;
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) {
    return InvalidArgumentError("'layer_ids': block " + std::to_string(*twice) + " stands twice");
  }
  if (!ids.empty() && ids.back() >= kMaxLayers) {
    return InvalidArgumentError("'layer_ids' has " + std::to_string(ids.back()) +
                                ": blocks up to " + std::to_string(kMaxLayers - 1) +
                                " are possible");
  }
  // Everything that multiplies them stays within 64 bits.
  uint64_t all = 0;
  for (const uint64_t bytes : info.layer_unit_bytes) {
    uint64_t layer = 0;
    if (bytes == 0) return InvalidArgumentError("'layer_unit_bytes' has a 0");
    if (!CheckedMul(bytes, info.experts, &layer) || !CheckedAdd(all, layer, &all) ||
        all > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return InvalidArgumentError("'layer_unit_bytes': the experts together have 2^63 bytes");
    }
  }
  return Status();
}

}  // namespace

Status CheckTraceShape(uint64_t layers, uint64_t experts, uint64_t top_k) {
  const auto check = [](const char* name, uint64_t value, uint64_t limit) {
    if (value >= 1 && value <= limit) return Status();
    return InvalidArgumentError("'" + std::string(name) + "' is " + std::to_string(value) +
                                ": expected a number from 1 to " + std::to_string(limit));
  };
  BERTH_RETURN_IF_ERROR(check("layers", layers, kMaxLayers));
  BERTH_RETURN_IF_ERROR(check("experts", experts, kMaxExperts));
  BERTH_RETURN_IF_ERROR(check("top_k", top_k, kMaxTopK));
  BERTH_RETURN_IF_ERROR(check("top_k", top_k, experts));
  if (layers * top_k > kMaxRowEntries) {
    return InvalidArgumentError("layers x top_k is " + std::to_string(layers * top_k) +
                                ", at most " + std::to_string(kMaxRowEntries) + " are possible");
  }
  return Status();
}

Status CheckTraceInfo(const TraceInfo& info) {
  BERTH_RETURN_IF_ERROR(CheckTraceShape(info.layers, info.experts, info.top_k));
  if (info.rows == 0) return InvalidArgumentError("a trace without rows");
  BERTH_RETURN_IF_ERROR(CheckCounts("request_rows", info.request_rows, info.rows));
  if (!info.pass_rows.empty()) {
    BERTH_RETURN_IF_ERROR(CheckCounts("pass_rows", info.pass_rows, info.rows));
  }
  const size_t requests = info.request_rows.size();
  BERTH_RETURN_IF_ERROR(
      CheckOneEach("request_labels", "labels", info.request_labels.size(), requests, "requests"));
  BERTH_RETURN_IF_ERROR(
      CheckOneEach("stream", "entries", info.streams.size(), requests, "requests"));
  if (info.predictions_ahead > 2) {
    return InvalidArgumentError("predictions " + std::to_string(info.predictions_ahead) +
                                " ahead: at most 2 are possible");
  }
  for (const uint32_t stream : info.streams) {
    if (stream > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
      return InvalidArgumentError("'stream' has " + std::to_string(stream) +
                                  ", at most 2^31 - 1 is possible");
    }
  }
  return CheckLayers(info);
}

IdFormat NarrowestIds(uint32_t experts) {
  using Type = io::SafetensorsType;
  if (experts <= 0xff) return {Type::kU8, 1, 0xff};
  if (experts <= 0xffff) return {Type::kU16, 2, 0xffff};
  return {Type::kI32, 4, kNoExpert};
}

Metadata MetadataOf(const TraceInfo& info, int64_t none) {
  Metadata metadata;
  metadata.layers = info.layers;
  metadata.experts = info.experts;
  metadata.top_k = info.top_k;
  metadata.none = none;
  metadata.layer_ids = info.layer_ids;
  metadata.layer_unit_bytes = info.layer_unit_bytes;
  metadata.request_labels = info.request_labels;
  metadata.model = info.model;
  metadata.source = info.source;
  return metadata;
}

Status IdOutOfRange(const TraceInfo& info, uint64_t row, size_t entry, int64_t id) {
  return OutOfRangeError("row " + std::to_string(row) + ", layer " +
                         std::to_string(entry / info.top_k) + ": expert id " + std::to_string(id) +
                         ", but the trace has " + std::to_string(info.experts) + " experts");
}

}  // namespace berth::trace
