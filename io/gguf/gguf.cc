#include "io/gguf/gguf.h"

#include <cstring>

namespace berth::io {
namespace {

// The integer of `type` at `from`, if it is one and not negative.
std::optional<uint64_t> ReadUint(GgufType type, const char* from) {
  // GGUF here is little-endian, as every machine that Berth builds for.
  uint64_t value = 0;
  std::memcpy(&value, from, GgufTypeBytes(type));
  const bool sign_bit = ((value >> (GgufTypeBytes(type) * 8 - 1)) & 1) != 0;
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kUint16:
    case GgufType::kUint32:
    case GgufType::kUint64:
      return value;
    case GgufType::kInt8:
    case GgufType::kInt16:
    case GgufType::kInt32:
    case GgufType::kInt64:
      if (sign_bit) return std::nullopt;
      return value;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string_view GgufTypeName(GgufType type) {
  static constexpr std::string_view kNames[] = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                "i32", "f32", "bool", "string", "array",
                                                "u64", "i64", "f64"};
  const auto index = static_cast<uint32_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

uint32_t GgufTypeBytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      return 0;
  }
  return 0;
}

std::optional<uint64_t> GgufKeyValue::AsUint() const {
  const uint32_t width = GgufTypeBytes(type);
  if (width == 0 || raw.size() != width) return std::nullopt;
  return ReadUint(type, raw.data());
}

std::optional<std::string_view> GgufKeyValue::AsString() const {
  if (type != GgufType::kString) return std::nullopt;
  return raw;
}

std::optional<std::vector<uint64_t>> GgufKeyValue::AsUintArray() const {
  const uint32_t width = GgufTypeBytes(element_type);
  if (type != GgufType::kArray || width == 0 || raw.size() != width * element_count) {
    return std::nullopt;
  }
  std::vector<uint64_t> values;
  values.reserve(element_count);
  for (uint64_t i = 0; i < element_count; ++i) {
    const std::optional<uint64_t> value = ReadUint(element_type, raw.data() + i * width);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::string GgufTensor::Shape() const {
  std::string text;
  for (uint32_t i = 0; i < dims; ++i) {
    if (i > 0) text += " x ";
    text += std::to_string(ne[i]);
  }
  return text;
}

const GgufKeyValue* GgufFile::Find(std::string_view key) const {
  for (const GgufKeyValue& entry : metadata) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

Result<GgufFile> ReadGguf(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(path));
  return ParseGguf(*source);
}

}  // namespace berth::io
