// The tensors of a model that is to be made, and how they are spread over its files.
#ifndef BERTH_RUNTIME_PACK_MODEL_PLAN_H_
#define BERTH_RUNTIME_PACK_MODEL_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"
#include "io/gguf/gguf_writer.h"
#include "kernels/formats/format.h"
#include "runtime/pack/make_model.h"

namespace berth::models {

// What a planned tensor's values are like.
enum class Fill : uint8_t {
  kBlocks,   // by the format's own generator
  kAround0,  // F32 in [-0.1, 0.1)
  kAround1,  // F32 in [0.9, 1.1)
};

struct PlannedTensor {
  std::string name;
  std::vector<uint64_t> ne;
  const kernels::Format* format = nullptr;  // null: F32
  Fill fill = Fill::kBlocks;
  uint64_t bytes = 0;
  // Where it goes.
  uint32_t file = 0;
  size_t index = 0;  // in the file's layout
};

struct ModelPlan {
  std::vector<PlannedTensor> tensors;
  std::vector<std::string> paths;
  std::vector<io::GgufLayout> layouts;  // finished
  uint64_t tensor_bytes = 0;
};

// InvalidArgument for a geometry that cannot be: columns that are no multiple of the type's block,
// top-k beyond the experts, an unknown architecture, more files than tensors.
Result<ModelPlan> PlanModel(const MakeModelOptions& options);

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_MODEL_PLAN_H_
