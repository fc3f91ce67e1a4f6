#include "runtime/catalog/expert_tensors.h"

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace berth::catalog {
namespace {

struct RoleName {
  std::string_view prefix;
  TensorRole role;
};
constexpr RoleName kRoleNames[] = {{"ffn_gate_exps.", TensorRole::kGate},
                                   {"ffn_up_exps.", TensorRole::kUp},
                                   {"ffn_down_exps.", TensorRole::kDown},
                                   {"ffn_gate_up_exps.", TensorRole::kGateUp}};
struct PartName {
  std::string_view name;
  ExpertPart part;
};
constexpr PartName kPartNames[] = {{"weight", ExpertPart::kWeight},
                                   {"bias", ExpertPart::kBias},
                                   {"scale", ExpertPart::kScale},
                                   {"input_scale", ExpertPart::kInputScale}};

bool Digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "ffn_gate.7.weight": one tensor per expert, as models of 2023 have it.
bool OneTensorPerExpert(std::string_view rest) {
  for (std::string_view prefix : {"ffn_gate.", "ffn_up.", "ffn_down."}) {
    if (!rest.starts_with(prefix)) continue;
    const std::string_view tail = rest.substr(prefix.size());
    const size_t dot = tail.find('.');
    return dot != std::string_view::npos && Digits(tail.substr(0, dot));
  }
  return false;
}

Status PlaceTensor(std::string_view rest, const TensorAt& at, BlockTensors* block) {
  if (rest == "ffn_exps.pack") block->pack = at;
  if (rest == "ffn_gate_inp.weight") block->router = at;
  if (OneTensorPerExpert(rest)) {
    return UnimplementedError(at.Where() +
                              " is of a model with one tensor per expert: expected "
                              "ffn_gate_exps and the like; convert the model again");
  }
  for (const RoleName& role : kRoleNames) {
    if (!rest.starts_with(role.prefix)) continue;
    const std::string_view tail = rest.substr(role.prefix.size());
    for (const PartName& part : kPartNames) {
      if (tail != part.name) continue;
      block->parts[static_cast<size_t>(role.role)][static_cast<size_t>(part.part)] = at;
      return Status();
    }
    return UnimplementedError(at.Where() +
                              " is not served: expected .weight, .bias, .scale or "
                              ".input_scale of an expert tensor");
  }
  return Status();
}

}  // namespace

bool BlockTensors::has_experts() const {
  if (pack) return true;
  for (const auto& role : parts) {
    if (role[static_cast<size_t>(ExpertPart::kWeight)]) return true;
  }
  return false;
}

std::optional<BlockName> ParseBlockName(std::string_view name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  name.remove_prefix(4);
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || !Digits(name.substr(0, dot))) return std::nullopt;
  BlockName parsed;
  if (!absl::SimpleAtoi(absl::string_view(name.data(), dot), &parsed.block)) return std::nullopt;
  parsed.rest = name.substr(dot + 1);
  return parsed;
}

Result<std::map<uint32_t, BlockTensors>> CollectExpertTensors(const io::GgufShards& shards) {
  std::map<uint32_t, BlockTensors> blocks;
  for (uint32_t i = 0; i < shards.files.size(); ++i) {
    const io::GgufFile& file = shards.files[i];
    for (const io::GgufTensor& tensor : file.tensors) {
      const std::optional<BlockName> name = ParseBlockName(tensor.name);
      if (!name) continue;
      BERTH_RETURN_IF_ERROR(
          PlaceTensor(name->rest, TensorAt{&file, i, &tensor}, &blocks[name->block]));
    }
  }
  return blocks;
}

}  // namespace berth::catalog
