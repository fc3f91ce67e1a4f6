#include "io/gguf/gguf_writer.h"

#include "runtime/base/math.h"

namespace berth::io {
namespace {

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutString(std::string* out, std::string_view text) {
  Put<uint64_t>(out, text.size());
  out->append(text);
}

}  // namespace

GgufLayout::GgufLayout(uint32_t version, uint32_t alignment)
    : version_(version), alignment_(alignment) {
  if (alignment != kGgufDefaultAlignment) AddUint32("general.alignment", alignment);
}

void GgufLayout::Key(std::string_view key, GgufType type) {
  ++key_count_;
  PutString(&metadata_, key);
  Put(&metadata_, static_cast<uint32_t>(type));
}

void GgufLayout::AddString(std::string_view key, std::string_view value) {
  Key(key, GgufType::kString);
  PutString(&metadata_, value);
}
void GgufLayout::AddUint16(std::string_view key, uint16_t value) {
  Key(key, GgufType::kUint16);
  Put(&metadata_, value);
}
void GgufLayout::AddUint32(std::string_view key, uint32_t value) {
  Key(key, GgufType::kUint32);
  Put(&metadata_, value);
}
void GgufLayout::AddInt32(std::string_view key, int32_t value) {
  Key(key, GgufType::kInt32);
  Put(&metadata_, value);
}

void GgufLayout::AddUint32Array(std::string_view key, std::span<const uint32_t> values) {
  Key(key, GgufType::kArray);
  Put(&metadata_, static_cast<uint32_t>(GgufType::kUint32));
  Put<uint64_t>(&metadata_, values.size());
  for (uint32_t value : values) Put(&metadata_, value);
}

void GgufLayout::AddStringArray(std::string_view key, std::span<const std::string> values) {
  Key(key, GgufType::kArray);
  Put(&metadata_, static_cast<uint32_t>(GgufType::kString));
  Put<uint64_t>(&metadata_, values.size());
  for (const std::string& value : values) PutString(&metadata_, value);
}

void GgufLayout::AddEntry(std::span<const std::byte> entry) {
  ++key_count_;
  metadata_.append(reinterpret_cast<const char*>(entry.data()), entry.size());
}

size_t GgufLayout::AddTensor(std::string_view name, uint32_t type, std::span<const uint64_t> ne,
                             uint64_t bytes) {
  tensors_.push_back({std::string(name), type, {ne.begin(), ne.end()}, bytes});
  return tensors_.size() - 1;
}

Status GgufLayout::Finish() {
  // Offsets within the data section first: the header holds them, and they do not depend on it.
  uint64_t end = 0;
  for (Tensor& tensor : tensors_) {
    tensor.offset = end;
    if (!CheckedAdd(end, tensor.bytes, &end) || !CheckedAdd(end, alignment_, &end)) {
      return InvalidArgumentError("the tensors have more than 2^64 bytes");
    }
    end = AlignUp(end - alignment_, alignment_);
  }
  header_ = "GGUF";
  Put(&header_, version_);
  Put<uint64_t>(&header_, tensors_.size());
  Put(&header_, key_count_);
  header_ += metadata_;
  for (const Tensor& tensor : tensors_) {
    PutString(&header_, tensor.name);
    Put(&header_, static_cast<uint32_t>(tensor.ne.size()));
    for (uint64_t extent : tensor.ne) Put(&header_, extent);
    Put(&header_, tensor.type);
    Put(&header_, tensor.offset);
  }
  header_.resize(AlignUp(header_.size(), alignment_), '\0');
  for (Tensor& tensor : tensors_) tensor.offset += header_.size();
  if (!CheckedAdd(end, header_.size(), &file_bytes_) || file_bytes_ > INT64_MAX) {
    return InvalidArgumentError("the file would have more than 2^63 bytes");
  }
  return Status();
}

std::span<const std::byte> GgufLayout::header() const { return std::as_bytes(std::span(header_)); }

}  // namespace berth::io
