#include "runtime/trace/heat_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/safetensors/safetensors.h"
#include "io/safetensors/writer.h"
#include "policies/heat_limit.h"
#include "runtime/base/format.h"
#include "runtime/trace/heat_text.h"

namespace berth {
namespace {

using io::SafetensorsTensor;
using io::SafetensorsType;

constexpr char kFormatName[] = "moe-expert-heat/1";
constexpr std::array<std::string_view, 3> kTensorNames = {"heat", "counts", "ranks"};

std::string Place(size_t unit, uint32_t experts) {
  return "layer " + std::to_string(unit / experts) + ", expert " + std::to_string(unit % experts);
}

Status NoHeat(size_t unit, uint32_t experts) {
  return InvalidArgumentError(Place(unit, experts) +
                              ": expected a number from 0 to 1e18, found another: only the "
                              "proportions matter, so divide all of them");
}

void CountKnown(UnitHeat* heat) {
  heat->known = static_cast<uint64_t>(
      std::count_if(heat->heat.begin(), heat->heat.end(), [](double each) { return each > 0; }));
}

template <typename T>
std::vector<double> Widened(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

bool TypeFits(const SafetensorsTensor& tensor) {
  using Type = SafetensorsType;
  const Type type = tensor.type;
  if (tensor.name == "ranks") return type == Type::kI32;
  if (tensor.name == "heat") return type == Type::kF32 || type == Type::kF64;
  return type == Type::kI32 || type == Type::kI64 || type == Type::kF32;
}

Result<std::vector<double>> Values(const io::SafetensorsFile& file,
                                   const SafetensorsTensor& tensor) {
  std::vector<std::byte> bytes(tensor.bytes);
  BERTH_RETURN_IF_ERROR(file.Read(tensor, 0, bytes));
  if (tensor.type == SafetensorsType::kF32) return Widened<float>(bytes);
  if (tensor.type == SafetensorsType::kF64) return Widened<double>(bytes);
  if (tensor.type == SafetensorsType::kI32) return Widened<int32_t>(bytes);
  return Widened<int64_t>(bytes);
}

// The one tensor of the file that says how hot.
Result<const SafetensorsTensor*> HeatTensor(const io::SafetensorsFile& file) {
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != kFormatName) {
    return InvalidArgumentError(
        std::string("not a heat file: expected metadata 'format' = '") + kFormatName +
        (format == file.metadata().end() ? "', found none"
                                         : "', found '" + format->second.substr(0, 80) + "'"));
  }
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (std::find(kTensorNames.begin(), kTensorNames.end(), tensor.name) == kTensorNames.end()) {
      return InvalidArgumentError("tensor '" + tensor.name + "' is not part of " + kFormatName +
                                  DidYouMean(tensor.name, kTensorNames));
    }
  }
  if (file.tensors().size() != 1) {
    return InvalidArgumentError("expected one tensor, heat, counts or ranks; found " +
                                std::to_string(file.tensors().size()));
  }
  const SafetensorsTensor& tensor = file.tensors().front();
  if (!TypeFits(tensor)) {
    return InvalidArgumentError("tensor '" + tensor.name + "': a type that it cannot have, " +
                                std::string(io::SafetensorsTypeName(tensor.type)) +
                                ": heat is F32 or F64, counts I32, I64 or F32, ranks I32");
  }
  if (tensor.shape.size() != 2 || tensor.shape[0] == 0 || tensor.shape[1] == 0) {
    return InvalidArgumentError("tensor '" + tensor.name +
                                "': expected the shape [layers, experts]");
  }
  return &tensor;
}

Status CheckShape(const SafetensorsTensor& tensor, uint32_t layers, uint32_t experts) {
  const auto text = [](uint64_t rows, uint64_t columns) {
    return std::to_string(rows) + " layers x " + std::to_string(columns) + " experts";
  };
  const uint64_t rows = tensor.shape[0];
  const uint64_t columns = tensor.shape[1];
  const uint64_t expected_rows = layers == 0 ? rows : layers;
  const uint64_t expected_columns = experts == 0 ? columns : experts;
  if (rows != expected_rows || columns != expected_columns) {
    return InvalidArgumentError("expected " + text(expected_rows, expected_columns) + ", found " +
                                text(rows, columns) + ": it is of another model or trace");
  }
  if (rows > trace::kMaxHeatUnits / columns) {
    return InvalidArgumentError("has " + text(rows, columns) + ": at most " +
                                std::to_string(trace::kMaxHeatUnits) + " units are read");
  }
  return Status();
}

Result<UnitHeat> ParseSafetensors(std::unique_ptr<io::ByteSource> source, uint32_t layers,
                                  uint32_t experts) {
  const std::string name = source->name();
  BERTH_ASSIGN_OR_RETURN(const io::SafetensorsFile file,
                         io::SafetensorsFile::Parse(std::move(source)));
  const Result<const SafetensorsTensor*> found = HeatTensor(file);
  if (!found.ok()) return found.status().Annotate(name);
  const SafetensorsTensor& tensor = **found;
  BERTH_RETURN_IF_ERROR(CheckShape(tensor, layers, experts).Annotate(name));
  UnitHeat heat;
  heat.layers = static_cast<uint32_t>(tensor.shape[0]);
  heat.experts = static_cast<uint32_t>(tensor.shape[1]);
  BERTH_ASSIGN_OR_RETURN(heat.heat, Values(file, tensor));
  if (tensor.name == "ranks") heat.heat = trace::HeatOfRanks(heat.heat);
  for (size_t i = 0; i < heat.heat.size(); ++i) {
    if (heat.heat[i] >= 0 && heat.heat[i] <= policies::kMostHeat) continue;
    return NoHeat(i, heat.experts).Annotate(name);
  }
  CountKnown(&heat);
  const auto stated = file.metadata().find("source");
  if (stated != file.metadata().end()) heat.source = stated->second;
  return heat;
}

// The length of a safetensors header has zero bytes; a text has none.
Result<bool> IsText(const io::ByteSource& source) {
  std::array<std::byte, 8> first;
  BERTH_ASSIGN_OR_RETURN(const size_t read, source.ReadSome(0, first));
  return std::find(first.begin(), first.begin() + read, std::byte{0}) == first.begin() + read;
}

}  // namespace

Result<UnitHeat> ParseHeat(std::unique_ptr<io::ByteSource> source, uint32_t layers,
                           uint32_t experts) {
  BERTH_ASSIGN_OR_RETURN(const bool text, IsText(*source));
  if (!text) return ParseSafetensors(std::move(source), layers, experts);
  BERTH_ASSIGN_OR_RETURN(UnitHeat heat, trace::ParseHeatText(std::move(source), layers, experts));
  CountKnown(&heat);
  return heat;
}

Result<UnitHeat> ReadHeatFile(const std::string& path, uint32_t layers, uint32_t experts) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<io::FileSource> source, io::FileSource::Open(path));
  return ParseHeat(std::move(source), layers, experts);
}

Status WriteHeatFile(const std::string& path, const UnitHeat& heat, bool replace) {
  const uint64_t units = uint64_t{heat.layers} * heat.experts;
  if (units == 0 || units > trace::kMaxHeatUnits || heat.heat.size() != units) {
    return InvalidArgumentError(path + ": " + std::to_string(heat.heat.size()) +
                                " values of heat for " + std::to_string(heat.layers) +
                                " layers x " + std::to_string(heat.experts) + " experts");
  }
  for (size_t i = 0; i < heat.heat.size(); ++i) {
    if (heat.heat[i] >= 0 && heat.heat[i] <= policies::kMostHeat) continue;
    return NoHeat(i, heat.experts).Annotate(path);
  }
  std::map<std::string, std::string> metadata = {{"format", kFormatName}};
  if (!heat.source.empty()) metadata["source"] = heat.source;
  const io::SafetensorsDeclaration tensor = {
      "heat", SafetensorsType::kF64, {heat.layers, heat.experts}};
  BERTH_ASSIGN_OR_RETURN(
      const std::unique_ptr<io::SafetensorsWriter> writer,
      io::SafetensorsWriter::Create(path, {&tensor, 1}, metadata, {.replace = replace}));
  BERTH_RETURN_IF_ERROR(writer->Append(std::as_bytes(std::span(heat.heat))));
  return writer->Commit();
}

}  // namespace berth
