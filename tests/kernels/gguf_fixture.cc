#include "tests/kernels/gguf_fixture.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace berth::testing {

template <typename T>
T GgufFixture::Read() {
  T value;
  std::memcpy(&value, bytes_.data() + at_, sizeof(value));
  at_ += sizeof(value);
  return value;
}

std::string GgufFixture::ReadString() {
  const auto length = Read<uint64_t>();
  std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), length);
  at_ += length;
  return text;
}

uint64_t GgufFixture::SkipValue(uint32_t type) {
  switch (type) {
    case 0:  // u8, i8, bool
    case 1:
    case 7:
      return Read<uint8_t>();
    case 2:  // u16, i16
    case 3:
      return Read<uint16_t>();
    case 4:  // u32, i32, f32
    case 5:
    case 6:
      return Read<uint32_t>();
    case 8:
      ReadString();
      return 0;
    case 9: {
      const auto element = Read<uint32_t>();
      const auto count = Read<uint64_t>();
      for (uint64_t i = 0; i < count; ++i) SkipValue(element);
      return 0;
    }
    default:  // u64, i64, f64
      return Read<uint64_t>();
  }
}

GgufFixture::GgufFixture(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> chars{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (chars.size() < 24) throw std::runtime_error("cannot read " + path);
  bytes_.resize(chars.size());
  std::memcpy(bytes_.data(), chars.data(), chars.size());
  at_ = 8;  // magic and version
  const auto tensor_count = Read<uint64_t>();
  const auto value_count = Read<uint64_t>();
  uint64_t alignment = 32;
  for (uint64_t i = 0; i < value_count; ++i) {
    const std::string key = ReadString();
    const uint64_t value = SkipValue(Read<uint32_t>());
    if (key == "general.alignment") alignment = value;
  }
  std::map<std::string, uint64_t> offsets;
  for (uint64_t i = 0; i < tensor_count; ++i) {
    const std::string name = ReadString();
    GgufTensor& tensor = tensors_[name];
    const auto dimensions = Read<uint32_t>();
    for (uint32_t d = 0; d < dimensions; ++d) tensor.shape.push_back(Read<uint64_t>());
    tensor.type = static_cast<TensorType>(Read<uint32_t>());
    offsets[name] = Read<uint64_t>();
  }
  const uint64_t data = (at_ + alignment - 1) / alignment * alignment;
  for (auto& [name, tensor] : tensors_) tensor.data = bytes_.data() + data + offsets[name];
}

}  // namespace berth::testing
