// berth inspect: what a model's experts are made of and where they lie.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/catalog/catalog.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"
#include "runtime/tools/table.h"

namespace berth::tools {
namespace {

using nlohmann::json;

std::string TypeName(const kernels::MatrixSpec& matrix) {
  const kernels::Format* format = kernels::FindFormat(matrix.type);
  return format == nullptr ? "?" : std::string(format->name);
}

bool IsFused(const Catalog& catalog, uint32_t layer) {
  return catalog.extents(catalog.unit({layer, 0}))[0].role == TensorRole::kGateUp;
}

// "iq3_s + iq3_s + iq4_nl"; a fused pair is "iq3_s (fused) + iq4_nl".
std::string TypesOf(const Catalog& catalog, uint32_t layer) {
  const kernels::ExpertSpec& spec = catalog.layer(layer).spec;
  const std::string down = " + " + TypeName(spec.down);
  if (IsFused(catalog, layer)) return TypeName(spec.up) + " (fused)" + down;
  if (!spec.conventions.has_gate()) return TypeName(spec.up) + down;
  return TypeName(spec.gate) + " + " + TypeName(spec.up) + down;
}

// Units whose every extent begins at a multiple of 4096: direct reads then bring no byte that is
// not theirs in front.
uint64_t AlignedUnits(const Catalog& catalog, uint32_t layer) {
  uint64_t aligned = 0;
  for (uint32_t expert = 0; expert < catalog.experts(); ++expert) {
    const auto extents = catalog.extents(catalog.unit({layer, expert}));
    aligned += std::all_of(extents.begin(), extents.end(),
                           [](const Extent& e) { return e.offset % kIoAlign == 0; });
  }
  return aligned;
}

// "1-3, 5" from ascending numbers.
std::string Ranges(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

const SizeClass& ClassOf(const Catalog& catalog, uint32_t layer) {
  return catalog.size_classes()[catalog.layer(layer).size_class];
}

uint64_t TotalPayload(const Catalog& catalog) {
  uint64_t bytes = 0;
  for (const SizeClass& size : catalog.size_classes()) {
    bytes += size.payload_bytes * size.layers.size() * catalog.experts();
  }
  return bytes;
}

std::string ChecksumsOf(const Catalog& catalog) {
  if (catalog.is_pack()) return "pack";
  return catalog.has_checksums() ? "sidecar" : "none";
}

bool HasBiases(const kernels::ExpertSpec& spec) {
  return !spec.gate_sibling.bias.empty() || !spec.up_sibling.bias.empty() ||
         !spec.down_sibling.bias.empty();
}
bool HasScales(const kernels::ExpertSpec& spec) {
  return !spec.gate_sibling.scale.empty() || !spec.up_sibling.scale.empty() ||
         !spec.down_sibling.scale.empty();
}

json LayerJson(const Catalog& catalog, uint32_t index) {
  const CatalogLayer& layer = catalog.layer(index);
  const kernels::ExpertSpec& spec = layer.spec;
  const auto first = catalog.extents(catalog.unit({index, 0}));
  json extents = json::array();
  for (size_t i = 0; i < first.size(); ++i) {
    uint64_t stride = first[i].bytes;
    if (catalog.experts() > 1) {
      stride = catalog.extents(catalog.unit({index, 1}))[i].offset - first[i].offset;
    }
    extents.push_back({{"role", catalog.is_pack() ? "unit" : TensorRoleName(first[i].role)},
                       {"file", first[i].file},
                       {"offset", first[i].offset},
                       {"stride", stride},
                       {"bytes", first[i].bytes},
                       {"card_offset", first[i].card_offset}});
  }
  json types = {{"up", TypeName(spec.up)}, {"down", TypeName(spec.down)}};
  if (spec.conventions.has_gate()) types["gate"] = TypeName(spec.gate);
  return {{"index", index},
          {"block", layer.block},
          {"size_class", layer.size_class},
          {"types", types},
          {"fused", IsFused(catalog, index)},
          {"hidden", spec.hidden},
          {"ffn", spec.ffn},
          {"biases", HasBiases(spec)},
          {"scales", HasScales(spec)},
          {"unit_bytes", ClassOf(catalog, index).payload_bytes},
          {"card_bytes", spec.unit_bytes},
          {"aligned_units", AlignedUnits(catalog, index)},
          {"extents", extents}};
}

json ConventionsJson(const kernels::ExpertConventions& conventions) {
  json made = {{"activation", kernels::ActivationName(conventions.activation)},
               {"gate_first", conventions.gate_first},
               {"weights_before", conventions.weights_before}};
  if (conventions.activation == kernels::Activation::kClampedGate) {
    made["alpha"] = conventions.alpha;
    made["limit"] = conventions.limit;
  }
  return made;
}

json ModelJson(const Catalog& catalog) {
  json made = {{"architecture", catalog.architecture()},
               {"name", catalog.model_name()},
               {"pack", catalog.is_pack()},
               {"checksums", ChecksumsOf(catalog)},
               {"layers", catalog.layers()},
               {"dense_layers", catalog.dense_layers()},
               {"experts", catalog.experts()},
               {"top_k", catalog.top_k()},
               {"hidden", catalog.hidden()},
               {"units", catalog.units()},
               {"unit_bytes_total", TotalPayload(catalog)},
               {"catalog_bytes", catalog.resident_bytes()},
               {"conventions", ConventionsJson(catalog.layer(0).spec.conventions)}};
  for (const ModelFile& file : catalog.files()) {
    made["files"].push_back({{"path", file.path}, {"bytes", file.bytes}});
  }
  for (const SizeClass& size : catalog.size_classes()) {
    made["size_classes"].push_back({{"unit_bytes", size.payload_bytes},
                                    {"card_bytes", size.card_bytes},
                                    {"host_bytes", size.host_bytes},
                                    {"layers", size.layers}});
  }
  for (uint32_t i = 0; i < catalog.layers(); ++i) {
    made["layer_list"].push_back(LayerJson(catalog, i));
  }
  return made;
}

// Layers that look alike in the table.
struct Row {
  std::vector<uint32_t> layers;
  std::vector<uint32_t> blocks;
  uint64_t aligned = 0;
};

std::string SizeTable(const Catalog& catalog) {
  std::map<std::pair<uint32_t, std::string>, Row> rows;
  for (uint32_t i = 0; i < catalog.layers(); ++i) {
    Row& row = rows[{catalog.layer(i).size_class, TypesOf(catalog, i)}];
    row.layers.push_back(i);
    row.blocks.push_back(catalog.layer(i).block);
    row.aligned += AlignedUnits(catalog, i);
  }
  Table table({{"class"},
               {"blocks", Align::kLeft},
               {"types", Align::kLeft},
               {"units"},
               {"unit (bytes)"},
               {"on a card (bytes)"},
               {"host slot (bytes)"},
               {"aligned (units)"},
               {"total"}});
  for (const auto& [key, row] : rows) {
    const SizeClass& size = catalog.size_classes()[key.first];
    const uint64_t units = row.layers.size() * uint64_t{catalog.experts()};
    table.AddRow({std::to_string(key.first), Ranges(row.blocks), key.second, FormatCount(units),
                  FormatCount(size.payload_bytes), FormatCount(size.card_bytes),
                  FormatCount(size.host_bytes), FormatCount(row.aligned),
                  FormatBytes(units * size.payload_bytes)});
  }
  return table.ToString();
}

void PrintModel(const Catalog& catalog) {
  const kernels::ExpertSpec& spec = catalog.layer(0).spec;
  uint64_t file_bytes = 0;
  for (const ModelFile& file : catalog.files()) file_bytes += file.bytes;
  Facts facts;
  const std::string name = catalog.model_name().empty() ? "" : ", " + catalog.model_name();
  facts.Add("model",
            Printable(catalog.architecture() + name) + (catalog.is_pack() ? " (a pack)" : ""));
  facts.Add("files", std::to_string(catalog.files().size()) + ", " + FormatBytes(file_bytes));
  facts.Add("layers", std::to_string(catalog.layers()) + " of experts, " +
                          std::to_string(catalog.dense_layers()) + " dense");
  facts.Add("experts", FormatCount(catalog.experts()) + " a layer, top-" +
                           std::to_string(catalog.top_k()) + "; " + FormatCount(catalog.units()) +
                           " units, " + FormatBytes(TotalPayload(catalog)));
  facts.Add("shape", "hidden " + std::to_string(catalog.hidden()) + ", ffn " +
                         std::to_string(spec.ffn) + ", " +
                         std::string(kernels::ActivationName(spec.conventions.activation)) +
                         (HasBiases(spec) ? ", biases" : "") + (HasScales(spec) ? ", scales" : ""));
  facts.Add("checksums", ChecksumsOf(catalog));
  std::printf("%s\n%s", facts.ToString().c_str(), SizeTable(catalog).c_str());
}

class InspectCommand final : public Command {
 public:
  std::string name() const override { return "inspect"; }
  std::string summary() const override {
    return "Show what a model's experts are made of and where they lie";
  }

  void AddOptions(CLI::App* app) override {
    AddModel(app, &model_);
    AddConventions(app, &conventions_);
    AddJson(app, &json_);
  }

  Status Run() override {
    BERTH_ASSIGN_OR_RETURN(JsonOutput output, JsonOutput::Open(json_, model_));
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Catalog> catalog,
                           Catalog::Open(model_, {.conventions = conventions_}));
    if (PrintsTables(json_)) PrintModel(*catalog);
    if (json_.empty()) return Status();
    return output.Write(ModelJson(*catalog));
  }

 private:
  std::string model_;
  std::string conventions_;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeInspectCommand() { return std::make_unique<InspectCommand>(); }

}  // namespace berth::tools
