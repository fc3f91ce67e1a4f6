#include "runtime/trace/metadata.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"

namespace berth::trace {
namespace {

using Entries = std::map<std::string, std::string>;

const std::string* Find(const Entries& entries, const char* key) {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

Status Wrong(const char* key, const std::string& expected, const std::string& found) {
  return InvalidArgumentError(std::string("metadata '") + key + "': expected " + expected +
                              ", found '" + found.substr(0, 80) + "'");
}

Result<uint32_t> Number(const Entries& entries, const char* key, uint64_t limit) {
  const std::string* text = Find(entries, key);
  if (text == nullptr) {
    return InvalidArgumentError(std::string("metadata '") + key + "' is missing");
  }
  uint64_t value = 0;
  if (!absl::SimpleAtoi(*text, &value) || value == 0 || value > limit) {
    return Wrong(key, "a number from 1 to " + std::to_string(limit), *text);
  }
  return static_cast<uint32_t>(value);
}

nlohmann::json ParseList(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

Result<std::vector<uint32_t>> LayerIds(const std::string& text, uint32_t layers) {
  const nlohmann::json list = ParseList(text);
  const std::string expected = "a JSON list of " + std::to_string(layers) + " block numbers";
  if (!list.is_array() || list.size() != layers) return Wrong("layer_ids", expected, text);
  std::vector<uint32_t> ids;
  for (const nlohmann::json& id : list) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= kMaxLayers) {
      return Wrong("layer_ids", expected, text);
    }
    ids.push_back(id.get<uint32_t>());
  }
  return ids;
}

Result<std::vector<uint64_t>> LayerUnitBytes(const std::string& text, uint32_t layers) {
  const nlohmann::json list = ParseList(text);
  const std::string expected = "a JSON list of " + std::to_string(layers) + " sizes in bytes";
  if (!list.is_array() || list.size() != layers) return Wrong("layer_unit_bytes", expected, text);
  std::vector<uint64_t> sizes;
  for (const nlohmann::json& size : list) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() == 0) {
      return Wrong("layer_unit_bytes", expected + " from 1 up", text);
    }
    sizes.push_back(size.get<uint64_t>());
  }
  return sizes;
}

Result<std::vector<std::string>> Labels(const std::string& text) {
  const nlohmann::json list = ParseList(text);
  if (!list.is_array()) return Wrong("request_labels", "a JSON list of strings", text);
  std::vector<std::string> labels;
  for (const nlohmann::json& label : list) {
    if (!label.is_string()) return Wrong("request_labels", "a JSON list of strings", text);
    labels.push_back(label.get<std::string>());
  }
  return labels;
}

}  // namespace

Result<Metadata> ReadMetadata(const Entries& entries) {
  const std::string* format = Find(entries, "format");
  if (format == nullptr) {
    return InvalidArgumentError(
        std::string("not a routing trace: it has no metadata 'format' = '") + kFormatName + "'");
  }
  if (*format != kFormatName) return Wrong("format", std::string("'") + kFormatName + "'", *format);
  Metadata metadata;
  BERTH_ASSIGN_OR_RETURN(metadata.layers, Number(entries, "layers", kMaxLayers));
  BERTH_ASSIGN_OR_RETURN(metadata.experts, Number(entries, "experts", kMaxExperts));
  BERTH_ASSIGN_OR_RETURN(metadata.top_k, Number(entries, "top_k", kMaxTopK));
  if (metadata.top_k > metadata.experts) {
    return Wrong("top_k", "at most " + std::to_string(metadata.experts) + " (experts)",
                 std::to_string(metadata.top_k));
  }
  if (const std::string* none = Find(entries, "none")) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(*none, &value)) return Wrong("none", "a number", *none);
    if (value >= 0 && value < metadata.experts) {
      return Wrong("none", "an id that is no expert's", *none);
    }
    metadata.none = value;
  }
  if (const std::string* ids = Find(entries, "layer_ids")) {
    BERTH_ASSIGN_OR_RETURN(metadata.layer_ids, LayerIds(*ids, metadata.layers));
  }
  if (const std::string* sizes = Find(entries, "layer_unit_bytes")) {
    BERTH_ASSIGN_OR_RETURN(metadata.layer_unit_bytes, LayerUnitBytes(*sizes, metadata.layers));
  }
  if (const std::string* labels = Find(entries, "request_labels")) {
    BERTH_ASSIGN_OR_RETURN(metadata.request_labels, Labels(*labels));
  }
  if (const std::string* model = Find(entries, "model")) metadata.model = *model;
  if (const std::string* source = Find(entries, "source")) metadata.source = *source;
  return metadata;
}

std::map<std::string, std::string> WriteMetadata(const Metadata& metadata) {
  const auto list = [](const auto& values) {
    return nlohmann::json(values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  Entries entries;
  entries["format"] = kFormatName;
  entries["layers"] = std::to_string(metadata.layers);
  entries["experts"] = std::to_string(metadata.experts);
  entries["top_k"] = std::to_string(metadata.top_k);
  if (metadata.none) entries["none"] = std::to_string(*metadata.none);
  if (!metadata.layer_ids.empty()) entries["layer_ids"] = list(metadata.layer_ids);
  if (!metadata.layer_unit_bytes.empty()) {
    entries["layer_unit_bytes"] = list(metadata.layer_unit_bytes);
  }
  if (!metadata.request_labels.empty()) entries["request_labels"] = list(metadata.request_labels);
  if (!metadata.model.empty()) entries["model"] = metadata.model;
  if (!metadata.source.empty()) entries["source"] = metadata.source;
  return entries;
}

}  // namespace berth::trace
