#include "runtime/pack/layer_types.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace berth::models {
namespace {

Result<LayerTypes> ParseTypes(const std::string& text) {
  const std::vector<std::string> names = absl::StrSplit(text, '+');
  if (names.size() != 2 && names.size() != 3) {
    return InvalidArgumentError("types '" + text +
                                "': expected gate/up+down or gate+up+down, like iq3_s+iq4_nl");
  }
  LayerTypes types;
  BERTH_ASSIGN_OR_RETURN(types.gate, kernels::FindFormat(names.front()));
  BERTH_ASSIGN_OR_RETURN(types.up, kernels::FindFormat(names[names.size() - 2]));
  BERTH_ASSIGN_OR_RETURN(types.down, kernels::FindFormat(names.back()));
  return types;
}

// "3" or "0-3" within [0, layers).
Status ParseRange(const std::string& text, uint32_t layers, uint32_t* first, uint32_t* last) {
  const std::vector<std::string> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  if (!absl::SimpleAtoi(ends.front(), first) || !absl::SimpleAtoi(ends.back(), last) ||
      *first > *last || *last >= layers) {
    return InvalidArgumentError("layers '" + text + "': expected a layer or a range from 0 to " +
                                std::to_string(layers - 1) + ", like 0-3");
  }
  return Status();
}

}  // namespace

Result<std::vector<LayerTypes>> ParseLayerTypes(std::string_view text, uint32_t layers) {
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ',');
  if (parts.size() > layers) {
    return InvalidArgumentError("types '" + std::string(text) +
                                "': " + std::to_string(parts.size()) + " entries for " +
                                std::to_string(layers) + " layers");
  }
  std::vector<LayerTypes> types(layers);
  for (uint32_t i = 0; i < parts.size(); ++i) {
    const size_t colon = parts[i].find(':');
    uint32_t first = static_cast<uint32_t>(uint64_t{layers} * i / parts.size());
    uint32_t last = static_cast<uint32_t>(uint64_t{layers} * (i + 1) / parts.size()) - 1;
    std::string names = parts[i];
    if (colon != std::string::npos) {
      BERTH_RETURN_IF_ERROR(ParseRange(parts[i].substr(0, colon), layers, &first, &last));
      names = parts[i].substr(colon + 1);
    }
    BERTH_ASSIGN_OR_RETURN(const LayerTypes parsed, ParseTypes(names));
    for (uint32_t layer = first; layer <= last; ++layer) {
      if (types[layer].down != nullptr) {
        return InvalidArgumentError("types '" + std::string(text) + "': layer " +
                                    std::to_string(layer) + " is named twice");
      }
      types[layer] = parsed;
    }
  }
  for (uint32_t layer = 0; layer < layers; ++layer) {
    if (types[layer].down == nullptr) {
      return InvalidArgumentError("types '" + std::string(text) + "': layer " +
                                  std::to_string(layer) + " has none");
    }
  }
  return types;
}

}  // namespace berth::models
