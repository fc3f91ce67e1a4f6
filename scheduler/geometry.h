// Geometry: what the core knows of a model. Sizes and counts only; where bytes lie is the
// catalog's business.
#ifndef BERTH_SCHEDULER_GEOMETRY_H_
#define BERTH_SCHEDULER_GEOMETRY_H_

#include <cstdint>
#include <vector>

#include "berth/types.h"

namespace berth::scheduler {

struct Geometry {
  uint32_t layers = 0;   // MoE layers, trace order
  uint32_t experts = 0;  // per layer
  uint32_t top_k = 0;
  uint32_t size_classes = 1;
  std::vector<uint32_t> layer_class;          // [layers] -> size class
  std::vector<uint32_t> layer_payload_bytes;  // [layers] a unit's quantized bytes
  std::vector<uint8_t> layer_extents;         // [layers] reads per unit, at least 1
  // Bytes a read asks the drive for, rounded out to its alignment: [unit * max_extents + extent].
  uint32_t max_extents = 1;
  std::vector<uint32_t> extent_read_bytes;
  std::vector<uint8_t> unit_drive;  // [units]; empty: all on drive 0
  uint32_t drives = 1;

  uint32_t units() const { return layers * experts; }
  uint32_t layer_of(UnitIndex unit) const { return unit / experts; }
  uint32_t class_of(UnitIndex unit) const { return layer_class[layer_of(unit)]; }
  uint32_t payload_bytes(UnitIndex unit) const { return layer_payload_bytes[layer_of(unit)]; }
  uint32_t extents(UnitIndex unit) const { return layer_extents[layer_of(unit)]; }
  uint32_t read_bytes(UnitIndex unit, uint32_t extent) const {
    return extent_read_bytes[static_cast<size_t>(unit) * max_extents + extent];
  }
  uint32_t read_bytes(UnitIndex unit) const {
    uint32_t total = 0;
    for (uint32_t e = 0; e < extents(unit); ++e) total += read_bytes(unit, e);
    return total;
  }
  uint32_t drive_of(UnitIndex unit) const { return unit_drive.empty() ? 0 : unit_drive[unit]; }
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_GEOMETRY_H_
