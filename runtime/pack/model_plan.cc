#include "runtime/pack/model_plan.h"

#include <bit>
#include <optional>

#include "io/gguf/gguf_shards.h"
#include "kernels/expert/expert_spec.h"
#include "runtime/base/hash.h"
#include "runtime/base/math.h"
#include "runtime/catalog/model_metadata.h"
#include "runtime/pack/layer_types.h"

namespace berth::models {
namespace {

constexpr uint32_t kVocabulary = 256;

class Planner {
 public:
  explicit Planner(const MakeModelOptions& options) : options_(options) {}

  Result<ModelPlan> Plan() {
    BERTH_RETURN_IF_ERROR(CheckOptions());
    BERTH_ASSIGN_OR_RETURN(conventions_, options_.conventions.empty()
                                             ? kernels::ConventionsOf(options_.architecture)
                                             : kernels::ParseConventions(options_.conventions));
    BERTH_ASSIGN_OR_RETURN(const std::vector<LayerTypes> types,
                           ParseLayerTypes(options_.types, options_.layers));
    if (options_.shared) BERTH_RETURN_IF_ERROR(AddModelTensors());
    for (uint32_t block = 0; block < options_.dense_layers; ++block) {
      BERTH_RETURN_IF_ERROR(AddDenseBlock(block));
    }
    for (uint32_t layer = 0; layer < options_.layers; ++layer) {
      BERTH_RETURN_IF_ERROR(AddMoeBlock(options_.dense_layers + layer, types[layer]));
    }
    BERTH_RETURN_IF_ERROR(Spread());
    return std::move(plan_);
  }

 private:
  Status CheckOptions() const {
    if (options_.output.empty()) {
      return InvalidArgumentError("the output's name is empty: name a file");
    }
    if (options_.architecture.empty()) return InvalidArgumentError("--arch is empty");
    const auto positive = [](const char* flag, uint64_t value, uint64_t at_most) {
      if (value >= 1 && value <= at_most) return Status();
      return InvalidArgumentError(std::string(flag) + " is " + std::to_string(value) +
                                  ": expected 1 to " + std::to_string(at_most));
    };
    BERTH_RETURN_IF_ERROR(positive("--layers", options_.layers, 1 << 16));
    BERTH_RETURN_IF_ERROR(positive("--experts", options_.experts, 1 << 16));
    BERTH_RETURN_IF_ERROR(positive("--top-k", options_.top_k, options_.experts));
    BERTH_RETURN_IF_ERROR(positive("--hidden", options_.hidden, 1 << 20));
    BERTH_RETURN_IF_ERROR(positive("--ffn", options_.ffn, 1 << 20));
    BERTH_RETURN_IF_ERROR(positive("--split", options_.files, 65535));
    BERTH_RETURN_IF_ERROR(positive("--alignment", options_.alignment, 1 << 20));
    if (options_.dense_layers > (1 << 16)) {
      return InvalidArgumentError("--dense-layers is " + std::to_string(options_.dense_layers) +
                                  ": expected at most 65536");
    }
    if (!std::has_single_bit(options_.alignment)) {
      return InvalidArgumentError("--alignment is " + std::to_string(options_.alignment) +
                                  ": expected a power of two");
    }
    if (options_.version != 2 && options_.version != 3) {
      return InvalidArgumentError("--version is " + std::to_string(options_.version) +
                                  ": expected 2 or 3");
    }
    return Status();
  }

  Status Add(const std::string& name, const kernels::Format* format, std::vector<uint64_t> ne,
             Fill fill = Fill::kBlocks) {
    uint64_t bytes = ne[0] * sizeof(float);
    if (format != nullptr) {
      Result<uint64_t> row = kernels::RowBytes(*format, ne[0]);
      if (!row.ok()) return row.status().Annotate(name);
      bytes = *row;
    }
    for (size_t d = 1; d < ne.size(); ++d) {
      if (!CheckedMul(bytes, ne[d], &bytes)) {
        return InvalidArgumentError(name + ": more than 2^64 bytes");
      }
    }
    if (!CheckedAdd(plan_.tensor_bytes, bytes, &plan_.tensor_bytes)) {
      return InvalidArgumentError("the model would have more than 2^64 bytes");
    }
    plan_.tensors.push_back({name, std::move(ne), format, fill, bytes});
    return Status();
  }

  Status AddModelTensors() {
    const auto* half = kernels::FindFormat(TensorType::kF16);
    BERTH_RETURN_IF_ERROR(Add("token_embd.weight", half, {options_.hidden, kVocabulary}));
    BERTH_RETURN_IF_ERROR(Add("output_norm.weight", nullptr, {options_.hidden}, Fill::kAround1));
    return Add("output.weight", half, {options_.hidden, kVocabulary});
  }

  Status AddDenseBlock(uint32_t block) {
    const std::string prefix = "blk." + std::to_string(block) + ".";
    BERTH_RETURN_IF_ERROR(
        Add(prefix + "attn_norm.weight", nullptr, {options_.hidden}, Fill::kAround1));
    if (!options_.shared) return Status();
    const auto* half = kernels::FindFormat(TensorType::kF16);
    BERTH_RETURN_IF_ERROR(Add(prefix + "ffn_gate.weight", half, {options_.hidden, options_.ffn}));
    BERTH_RETURN_IF_ERROR(Add(prefix + "ffn_up.weight", half, {options_.hidden, options_.ffn}));
    return Add(prefix + "ffn_down.weight", half, {options_.ffn, options_.hidden});
  }

  Status AddMoeBlock(uint32_t block, const LayerTypes& types) {
    const std::string prefix = "blk." + std::to_string(block) + ".";
    if (options_.shared) {
      BERTH_RETURN_IF_ERROR(
          Add(prefix + "attn_norm.weight", nullptr, {options_.hidden}, Fill::kAround1));
      BERTH_RETURN_IF_ERROR(Add(prefix + "ffn_gate_inp.weight", nullptr,
                                {options_.hidden, options_.experts}, Fill::kAround0));
    }
    const bool has_gate = conventions_.has_gate();
    if (options_.fused && (!has_gate || types.gate != types.up)) {
      return InvalidArgumentError(
          "--fused: expected an architecture with a gate, and one type for gate and up");
    }
    if (options_.fused) {
      BERTH_RETURN_IF_ERROR(
          AddExperts(prefix + "ffn_gate_up_exps", types.up, options_.hidden, options_.ffn * 2));
    } else {
      if (has_gate) {
        BERTH_RETURN_IF_ERROR(
            AddExperts(prefix + "ffn_gate_exps", types.gate, options_.hidden, options_.ffn));
      }
      BERTH_RETURN_IF_ERROR(
          AddExperts(prefix + "ffn_up_exps", types.up, options_.hidden, options_.ffn));
    }
    return AddExperts(prefix + "ffn_down_exps", types.down, options_.ffn, options_.hidden);
  }

  Status AddExperts(const std::string& name, const kernels::Format* format, uint64_t inputs,
                    uint64_t outputs) {
    BERTH_RETURN_IF_ERROR(Add(name + ".weight", format, {inputs, outputs, options_.experts}));
    if (options_.biases) {
      BERTH_RETURN_IF_ERROR(
          Add(name + ".bias", nullptr, {outputs, options_.experts}, Fill::kAround0));
    }
    if (options_.scales) {
      BERTH_RETURN_IF_ERROR(Add(name + ".scale", nullptr, {options_.experts}, Fill::kAround1));
    }
    return Status();
  }

  void AddMetadata(io::GgufLayout* layout) const {
    const std::string& arch = options_.architecture;
    layout->AddString("general.architecture", arch);
    layout->AddString("general.name", "made by berth, seed " + std::to_string(options_.seed));
    layout->AddUint32(arch + ".block_count", options_.dense_layers + options_.layers);
    layout->AddUint32(arch + ".embedding_length", options_.hidden);
    layout->AddUint32(arch + ".expert_count", options_.experts);
    layout->AddUint32(arch + ".expert_used_count", options_.top_k);
    layout->AddUint32(arch + ".expert_feed_forward_length", options_.ffn);
    if (options_.dense_layers > 0) {
      layout->AddUint32(arch + ".leading_dense_block_count", options_.dense_layers);
    }
  }

  // The same for all shards of one model and for no other's: all that their bytes follow from.
  std::string SetName() const {
    std::string text = options_.architecture + "\n" + options_.types;
    for (const uint64_t figure :
         {uint64_t{options_.layers}, uint64_t{options_.dense_layers}, uint64_t{options_.experts},
          uint64_t{options_.top_k}, uint64_t{options_.hidden}, uint64_t{options_.ffn},
          uint64_t{options_.files}, uint64_t{options_.alignment}, uint64_t{options_.version},
          options_.seed, uint64_t{options_.fused}, uint64_t{options_.biases},
          uint64_t{options_.scales}, uint64_t{options_.shared},
          uint64_t{conventions_.has_gate()}}) {
      text += "\n" + std::to_string(figure);
    }
    return std::to_string(Hash64(text.data(), text.size()));
  }

  // Tensors go to the files in order, by bytes: layers straddle files as they do in real models.
  Status Spread() {
    if (options_.files > plan_.tensors.size()) {
      return InvalidArgumentError("--split is " + std::to_string(options_.files) +
                                  ": expected at most one file per tensor, " +
                                  std::to_string(plan_.tensors.size()));
    }
    const std::string set = SetName();
    std::string prefix = options_.output;
    if (prefix.ends_with(".gguf")) prefix.resize(prefix.size() - 5);
    for (uint32_t i = 0; i < options_.files; ++i) {
      plan_.paths.push_back(options_.files == 1 ? options_.output
                                                : io::ShardPath(prefix, i + 1, options_.files));
      io::GgufLayout& layout = plan_.layouts.emplace_back(options_.version, options_.alignment);
      if (i == 0) AddMetadata(&layout);
      if (options_.files == 1) continue;
      layout.AddUint16("split.no", static_cast<uint16_t>(i));
      layout.AddUint16("split.count", static_cast<uint16_t>(options_.files));
      layout.AddInt32("split.tensors.count", static_cast<int32_t>(plan_.tensors.size()));
      layout.AddString(catalog::kSplitSetKey, set);
    }
    AssignFiles();
    for (io::GgufLayout& layout : plan_.layouts) BERTH_RETURN_IF_ERROR(layout.Finish());
    return Status();
  }

  void AssignFiles() {
    const uint64_t share = CeilDiv(plan_.tensor_bytes, options_.files);
    uint64_t in_file = 0;
    uint32_t file = 0;
    for (size_t i = 0; i < plan_.tensors.size(); ++i) {
      const size_t tensors_left = plan_.tensors.size() - i;
      const uint32_t files_left = options_.files - 1 - file;
      // Every file gets a tensor at least, so the last tensors may have to go one to a file.
      if (files_left > 0 && in_file > 0 && (in_file >= share || tensors_left <= files_left)) {
        ++file;
        in_file = 0;
      }
      PlannedTensor& tensor = plan_.tensors[i];
      const auto type = tensor.format != nullptr ? static_cast<uint32_t>(tensor.format->type) : 0u;
      tensor.file = file;
      tensor.index = plan_.layouts[file].AddTensor(tensor.name, type, tensor.ne, tensor.bytes);
      in_file += tensor.bytes;
    }
  }

  const MakeModelOptions& options_;
  kernels::ExpertConventions conventions_;
  ModelPlan plan_;
};

}  // namespace

Result<ModelPlan> PlanModel(const MakeModelOptions& options) { return Planner(options).Plan(); }

}  // namespace berth::models
