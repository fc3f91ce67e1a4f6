// The metadata of a trace file: what its strings must say, checked against each other.
#ifndef BERTH_RUNTIME_TRACE_METADATA_H_
#define BERTH_RUNTIME_TRACE_METADATA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/status.h"

namespace berth::trace {

inline constexpr const char* kFormatName = "moe-routing-trace/1";
// Larger values than any model has; they keep every product of them far from overflow.
inline constexpr uint64_t kMaxLayers = 1u << 16;
inline constexpr uint64_t kMaxExperts = 1u << 20;
inline constexpr uint64_t kMaxTopK = 1u << 10;

struct Metadata {
  uint32_t layers = 0;
  uint32_t experts = 0;
  uint32_t top_k = 0;
  std::optional<int64_t> none;  // the id that means no expert
  std::vector<uint32_t> layer_ids;
  std::vector<uint64_t> layer_unit_bytes;  // of each layer; empty: not stated
  std::vector<std::string> request_labels;
  std::string model;
  std::string source;
};

// Keys that are not known are left alone: files carry notes of their makers. Messages say key,
// expected and found.
Result<Metadata> ReadMetadata(const std::map<std::string, std::string>& entries);
std::map<std::string, std::string> WriteMetadata(const Metadata& metadata);

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_METADATA_H_
