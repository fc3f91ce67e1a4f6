#include "runtime/plan/model_sizes.h"

#include <algorithm>
#include <string>

#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth {
namespace {

// What the core's 32-bit unit numbers and byte counts have room for, with a wide margin.
constexpr uint64_t kMaxUnits = 1u << 26;
constexpr uint64_t kMaxUnitBytes = 1u << 30;

}  // namespace

uint64_t ModelSizes::largest_host_slot() const {
  uint64_t largest = 0;
  for (const SlotBytes& c : class_slot_bytes) largest = std::max(largest, c.host);
  return largest;
}

Result<ModelSizes> StatedSizes(uint32_t layers, uint32_t experts, uint32_t top_k,
                               std::span<const uint64_t> unit_bytes) {
  if (layers == 0 || experts == 0 || top_k == 0) {
    return InvalidArgumentError("layers, experts and top-k must be at least 1");
  }
  if (top_k > experts) {
    return InvalidArgumentError("top-k of " + std::to_string(top_k) + " is more than the " +
                                std::to_string(experts) + " experts");
  }
  if (static_cast<uint64_t>(layers) * experts > kMaxUnits) {
    return InvalidArgumentError(std::to_string(layers) + " layers of " + std::to_string(experts) +
                                " experts are more units than can be planned for");
  }
  if (unit_bytes.size() != 1 && unit_bytes.size() != layers) {
    return InvalidArgumentError("unit bytes: " + std::to_string(unit_bytes.size()) +
                                " values for " + std::to_string(layers) +
                                " layers: give one, or one for each layer");
  }
  ModelSizes sizes;
  scheduler::Geometry& g = sizes.geometry;
  g.layers = layers;
  g.experts = experts;
  g.top_k = top_k;
  g.max_extents = 1;
  g.layer_extents.assign(layers, 1);
  std::vector<uint64_t> classes;
  for (uint32_t l = 0; l < layers; ++l) {
    const uint64_t bytes = unit_bytes[unit_bytes.size() == 1 ? 0 : l];
    if (bytes == 0 || bytes > kMaxUnitBytes) {
      return InvalidArgumentError("unit bytes of layer " + std::to_string(l) + ": " +
                                  std::to_string(bytes) + ", expected 1 to " +
                                  std::to_string(kMaxUnitBytes) + " (" +
                                  FormatBytes(kMaxUnitBytes) + ")");
    }
    auto at = std::find(classes.begin(), classes.end(), bytes);
    if (at == classes.end()) {
      at = classes.insert(classes.end(), bytes);
      sizes.class_slot_bytes.push_back({AlignUp(bytes, kCardAlign), AlignUp(bytes, kIoAlign)});
    }
    g.layer_class.push_back(static_cast<uint32_t>(at - classes.begin()));
    g.layer_payload_bytes.push_back(static_cast<uint32_t>(bytes));
    g.extent_read_bytes.insert(g.extent_read_bytes.end(), experts,
                               static_cast<uint32_t>(AlignUp(bytes, kIoAlign)));
  }
  g.size_classes = static_cast<uint32_t>(classes.size());
  return sizes;
}

}  // namespace berth
