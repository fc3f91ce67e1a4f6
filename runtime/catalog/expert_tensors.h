// Which tensors of a model belong to its routed experts, by name, block by block.
#ifndef BERTH_RUNTIME_CATALOG_EXPERT_TENSORS_H_
#define BERTH_RUNTIME_CATALOG_EXPERT_TENSORS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/status.h"
#include "berth/types.h"
#include "io/gguf/gguf_shards.h"

namespace berth::catalog {

// A tensor and the file it lies in.
struct TensorAt {
  const io::GgufFile* file = nullptr;
  uint32_t file_index = 0;
  const io::GgufTensor* tensor = nullptr;

  explicit operator bool() const { return tensor != nullptr; }
  // "path: tensor name", for messages.
  std::string Where() const { return file->path + ": tensor " + tensor->name; }
};

// What stands after "ffn_gate_exps.".
enum class ExpertPart : uint8_t { kWeight, kBias, kScale, kInputScale };
inline constexpr size_t kRoles = 4;  // of TensorRole
inline constexpr size_t kParts = 4;

struct BlockTensors {
  std::array<std::array<TensorAt, kParts>, kRoles> parts;
  TensorAt pack;    // blk.N.ffn_exps.pack
  TensorAt router;  // blk.N.ffn_gate_inp.weight: not ours, but says that the block has experts

  const TensorAt& at(TensorRole role, ExpertPart part) const {
    return parts[static_cast<size_t>(role)][static_cast<size_t>(part)];
  }
  bool has_experts() const;
};

// "blk.12.rest" -> 12 and "rest"; absent for other names.
struct BlockName {
  uint32_t block = 0;
  std::string_view rest;
};
std::optional<BlockName> ParseBlockName(std::string_view name);

// Every block that any tensor names, in order. Shared experts ("_shexp") and everything else that
// is not a routed expert's is passed over. Unimplemented for parts of expert tensors that are not
// known (passing over them would compute something else than the model) and for models with one
// tensor per expert. `shards` must outlive the result.
Result<std::map<uint32_t, BlockTensors>> CollectExpertTensors(const io::GgufShards& shards);

}  // namespace berth::catalog

#endif  // BERTH_RUNTIME_CATALOG_EXPERT_TENSORS_H_
