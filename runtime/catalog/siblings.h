// Bias and scale tensors beside the experts' weights: small, resident, by the model's expert id.
#ifndef BERTH_RUNTIME_CATALOG_SIBLINGS_H_
#define BERTH_RUNTIME_CATALOG_SIBLINGS_H_

#include "berth/status.h"
#include "kernels/expert/expert_spec.h"
#include "runtime/catalog/expert_tensors.h"

namespace berth::catalog {

// Reads a layer's siblings to F32 into `spec`, whose experts, ffn, hidden and conventions are set.
// `fused`: the layer has a gate_up tensor.
// Types F32, F16 and BF16 are served. A fused gate_up tensor's bias is split as its rows are; its
// scale goes to both. `.input_scale` is checked and not used: it belongs to activations quantized
// per tensor, which this arithmetic has not.
Status LoadSiblings(const BlockTensors& tensors, bool fused, kernels::ExpertSpec* spec);

}  // namespace berth::catalog

#endif  // BERTH_RUNTIME_CATALOG_SIBLINGS_H_
