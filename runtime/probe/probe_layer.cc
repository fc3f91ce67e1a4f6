#include "runtime/probe/probe_layer.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "kernels/formats/format.h"
#include "runtime/base/math.h"
#include "runtime/config/kernel_table.h"
#include "runtime/pack/layer_types.h"

namespace berth::probe {

using kernels::ExpertSpec;
using kernels::Format;
using kernels::MatrixSpec;

namespace {

std::string NameOf(TensorType type) {
  const Format* const format = kernels::FindFormat(type);
  std::string name = format == nullptr ? "F32" : std::string(format->name);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string TypesOf(const ExpertSpec& spec) {
  std::string name;
  if (spec.conventions.has_gate() && spec.gate.type != spec.up.type) {
    name = NameOf(spec.gate.type) + "+";
  }
  return name + NameOf(spec.up.type) + "+" + NameOf(spec.down.type);
}

Result<MatrixSpec> MakeMatrix(const Format& format, uint32_t rows, uint32_t cols, uint64_t* end) {
  MatrixSpec matrix;
  matrix.type = format.type;
  matrix.rows = rows;
  matrix.cols = cols;
  BERTH_ASSIGN_OR_RETURN(matrix.row_bytes, RowBytes(format, cols));
  matrix.offset = *end;
  *end = AlignUp(*end + rows * matrix.row_bytes, kCardAlign);
  return matrix;
}

Result<ProbeLayer> MakeLayer(const models::LayerTypes& types, const ProbeShape& shape) {
  ProbeLayer layer;
  ExpertSpec& spec = layer.spec;
  spec.experts = shape.experts;
  spec.hidden = shape.hidden;
  spec.ffn = shape.ffn;
  uint64_t end = 0;
  BERTH_ASSIGN_OR_RETURN(spec.gate, MakeMatrix(*types.gate, shape.ffn, shape.hidden, &end));
  BERTH_ASSIGN_OR_RETURN(spec.up, MakeMatrix(*types.up, shape.ffn, shape.hidden, &end));
  BERTH_ASSIGN_OR_RETURN(spec.down, MakeMatrix(*types.down, shape.hidden, shape.ffn, &end));
  spec.unit_bytes = end;
  layer.top_k = shape.top_k;
  layer.types = TypesOf(spec);
  return layer;
}

void AddAllTypes(const ProbeShape& shape, const kernels::Device& device,
                 std::vector<ProbeLayer>* layers) {
  const Format* const filler = kernels::FindFormat(TensorType::kIQ4_NL);
  for (const Format& format : kernels::Formats()) {
    Result<ProbeLayer> layer = MakeLayer({&format, &format, &format}, shape);
    if (!layer.ok()) layer = MakeLayer({&format, &format, filler}, shape);
    if (!layer.ok()) continue;
    // Where there is one kernel for a type there is nothing to choose.
    if (device.Kernels(layer->spec, 1, shape.top_k).size() == 1) continue;
    layers->push_back(std::move(*layer));
  }
}

Status CheckShape(const ProbeShape& shape) {
  constexpr uint32_t kMost = 1 << 20;  // of a width or a number of experts: far above any model's
  if (shape.hidden == 0 || shape.ffn == 0 || shape.experts == 0 || shape.top_k == 0) {
    return InvalidArgumentError(
        "without MODEL the shape is needed: --hidden, --ffn, --experts and --top-k");
  }
  if (shape.hidden > kMost || shape.ffn > kMost || shape.experts > kMost) {
    return InvalidArgumentError("--hidden, --ffn and --experts are at most " +
                                std::to_string(kMost));
  }
  if (shape.top_k > shape.experts) {
    return InvalidArgumentError("--top-k " + std::to_string(shape.top_k) + " of " +
                                std::to_string(shape.experts) + " experts");
  }
  return Status();
}

void Generate(const MatrixSpec& matrix, uint64_t seed, std::byte* unit) {
  const Format& format = *kernels::FindFormat(matrix.type);
  format.generate(seed, 0, matrix.rows * matrix.row_bytes / format.block_bytes,
                  unit + matrix.offset);
}

}  // namespace

std::vector<ProbeLayer> LayersOfModel(const Catalog& catalog) {
  std::vector<ProbeLayer> layers;
  for (uint32_t l = 0; l < catalog.layers(); ++l) {
    const ExpertSpec& spec = catalog.layer(l).spec;
    const MeasuredKernel calls = MeasuredKernelOf(spec, catalog.top_k(), 1);
    const auto like = std::find_if(layers.begin(), layers.end(), [&](const ProbeLayer& layer) {
      return MeasuredKernelOf(layer.spec, layer.top_k, 1).SameCalls(calls);
    });
    if (like == layers.end()) {
      layers.push_back({TypesOf(spec), spec, catalog.top_k(), 1});
    } else {
      ++like->layers;
    }
  }
  std::stable_sort(layers.begin(), layers.end(),
                   [](const ProbeLayer& a, const ProbeLayer& b) { return a.layers > b.layers; });
  return layers;
}

Result<std::vector<ProbeLayer>> LayersOfTypes(const std::vector<std::string>& types,
                                              const ProbeShape& shape,
                                              const kernels::Device& device) {
  BERTH_RETURN_IF_ERROR(CheckShape(shape));
  std::vector<ProbeLayer> layers;
  for (const std::string& text : types) {
    if (text == "all") {
      AddAllTypes(shape, device, &layers);
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(const std::vector<models::LayerTypes> parsed,
                           models::ParseLayerTypes(text, 1));
    Result<ProbeLayer> layer = MakeLayer(parsed.front(), shape);
    if (!layer.ok()) return layer.status().Annotate(text);
    layers.push_back(std::move(*layer));
  }
  if (layers.empty()) {
    return InvalidArgumentError("no type of weights has blocks that this shape is a multiple of");
  }
  return layers;
}

void GenerateUnit(const ExpertSpec& spec, uint64_t seed, std::byte* unit) {
  if (spec.conventions.has_gate()) Generate(spec.gate, 3 * seed, unit);
  Generate(spec.up, 3 * seed + 1, unit);
  Generate(spec.down, 3 * seed + 2, unit);
}

}  // namespace berth::probe
