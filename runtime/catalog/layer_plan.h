// LayerPlan: the checked shapes of one MoE layer and where its units lie, before the catalog is
// put together. Plain models and packs meet here.
#ifndef BERTH_RUNTIME_CATALOG_LAYER_PLAN_H_
#define BERTH_RUNTIME_CATALOG_LAYER_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"
#include "kernels/formats/format.h"
#include "runtime/catalog/expert_tensors.h"
#include "runtime/catalog/model_metadata.h"

namespace berth::catalog {

// One tensor of a unit: `rows` x `cols` of `format`.
struct UnitTensor {
  TensorRole role = TensorRole::kGate;
  const kernels::Format* format = nullptr;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint64_t row_bytes = 0;
  uint64_t bytes = 0;        // of one expert
  uint64_t card_offset = 0;  // within the unit, a multiple of 256
  // Plain models: expert e lies at file_offset + e * bytes.
  uint32_t file = 0;
  uint64_t file_offset = 0;
};

struct LayerPlan {
  uint32_t block = 0;
  uint32_t experts = 0;
  uint32_t hidden = 0;
  uint32_t ffn = 0;
  std::vector<UnitTensor> tensors;  // gate, up, down; gate_up, down; or up, down
  uint64_t payload_end = 0;         // on a card: the end of the last tensor
  uint64_t unit_bytes = 0;          // the same, rounded up to 256
  bool packed = false;
  // Packs: expert e lies at pack_offset + e * pack_stride, laid out as on a card.
  uint32_t pack_file = 0;
  uint64_t pack_offset = 0;
  uint64_t pack_stride = 0;
};

// A unit's tensor has at most this many bytes: a read is at most 1 GiB, with its head and tail.
inline constexpr uint64_t kMaxUnitTensorBytes = (uint64_t{1} << 30) - 8192;

// The roles, in the order gate, up, gate_up, down, are what the conventions need: all of a kind and
// nothing besides.
Status CheckRoles(const std::string& where, const ModelMetadata& model,
                  const std::vector<TensorRole>& found);
// Sets format, row_bytes and bytes of a tensor of `cols` x `rows`. `where` begins every message.
Status SizeTensor(const std::string& where, uint32_t type, uint64_t cols, uint64_t rows,
                  UnitTensor* tensor);
// From tensors with sizes: checks them against each other and the metadata, sets card offsets,
// hidden, ffn, payload_end and unit_bytes. `where` is "path: blk.N".
Status FinishPlan(const std::string& where, const ModelMetadata& model, LayerPlan* plan);
// A layer of a plain model.
Result<LayerPlan> PlanPlainLayer(const ModelMetadata& model, uint32_t block,
                                 const BlockTensors& tensors);

}  // namespace berth::catalog

#endif  // BERTH_RUNTIME_CATALOG_LAYER_PLAN_H_
