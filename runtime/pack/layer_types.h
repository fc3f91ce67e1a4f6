// Which quantized types the layers of a made model have, as people write it.
#ifndef BERTH_RUNTIME_PACK_LAYER_TYPES_H_
#define BERTH_RUNTIME_PACK_LAYER_TYPES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "kernels/formats/format.h"

namespace berth::models {

struct LayerTypes {
  const kernels::Format* gate = nullptr;
  const kernels::Format* up = nullptr;
  const kernels::Format* down = nullptr;
};

// One entry for each of `layers` MoE layers, from
//   "iq3_s+iq4_nl"                           gate and up, down; the same for all layers
//   "q4_k+q4_k+q6_k"                         gate, up, down
//   "0-3:iq3_s+iq4_nl,4-7:iq2_s+q2_0,8:q8_0+q8_0"  by layer: each exactly once
//   "iq3_s+iq4_nl,iq2_s+q2_0"                an even share of the layers each, in order
Result<std::vector<LayerTypes>> ParseLayerTypes(std::string_view text, uint32_t layers);

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_LAYER_TYPES_H_
