// What a card of the gpu backend takes of its memory besides slots. Known without a card, so that a
// plan is the same whether there is one or it is played.
#ifndef BERTH_KERNELS_CARD_BYTES_H_
#define BERTH_KERNELS_CARD_BYTES_H_

#include <cstdint>

#include "kernels/device.h"
#include "kernels/expert/expert_spec.h"

namespace berth::kernels {

// Of a stream: its workspace. 0 for one that computes nothing.
uint64_t CardStreamBytes(const StreamOptions& options);
// Of a layer that was prepared: biases and scales.
uint64_t CardLayerBytes(const ExpertSpec& spec);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_CARD_BYTES_H_
