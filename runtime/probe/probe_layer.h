// The layers whose grouped calls are measured: those of a model, or of given types and a shape.
#ifndef BERTH_RUNTIME_PROBE_PROBE_LAYER_H_
#define BERTH_RUNTIME_PROBE_PROBE_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"
#include "kernels/device.h"
#include "kernels/expert/expert_spec.h"
#include "runtime/catalog/catalog.h"

namespace berth::probe {

struct ProbeLayer {
  std::string types;  // "IQ3_S+IQ4_NL": gate and up, down; "Q4_K+Q6_K+Q8_0" where they differ
  kernels::ExpertSpec spec;
  uint32_t top_k = 0;
  uint32_t layers = 1;  // of the model, that are like it
};

struct ProbeShape {
  uint32_t hidden = 0, ffn = 0, experts = 0, top_k = 0;
};

// One for each kind of layer; the most frequent first.
std::vector<ProbeLayer> LayersOfModel(const Catalog& catalog);
// `types`: entries as make-model has them ("iq3_s+iq4_nl"), or "all": every type that the card
// chooses kernels of, alone where the shape allows, otherwise over IQ4_NL. InvalidArgument where a
// type is unknown, or the shape is none or no multiple of a type's block.
Result<std::vector<ProbeLayer>> LayersOfTypes(const std::vector<std::string>& types,
                                              const ProbeShape& shape,
                                              const kernels::Device& device);

// A unit of the layer with valid random weights: spec.unit_bytes of them.
void GenerateUnit(const kernels::ExpertSpec& spec, uint64_t seed, std::byte* unit);

}  // namespace berth::probe

#endif  // BERTH_RUNTIME_PROBE_PROBE_LAYER_H_
