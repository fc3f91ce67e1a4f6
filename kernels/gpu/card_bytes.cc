// Compiled by itself beside the same layout of the workspace that every flavour has.
#include "kernels/card_bytes.h"

#include <vector>

#include "kernels/gpu/expert_workspace.h"
#include "kernels/gpu/stream_sizes.h"
#include "runtime/base/math.h"

namespace berth::kernels {

uint64_t CardStreamBytes(const StreamOptions& options) {
  if (options.max_pairs == 0) return 0;
  return gpu::ExpertWorkspace(gpu::SizesOf(options), nullptr).bytes;
}

uint64_t CardLayerBytes(const ExpertSpec& spec) {
  uint64_t bytes = 0;
  for (const SiblingSpec* sibling : {&spec.gate_sibling, &spec.up_sibling, &spec.down_sibling}) {
    for (const std::vector<float>* values : {&sibling->bias, &sibling->scale}) {
      bytes += AlignUp(values->size() * sizeof(float), kCardAlign);
    }
  }
  return bytes;
}

}  // namespace berth::kernels
