#include <array>
#include <utility>

#include "io/safetensors/header.h"
#include "io/safetensors/safetensors.h"
#include "io/safetensors/types.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr uint64_t kLengthBytes = 8;

uint64_t LoadLittle64(std::span<const std::byte, kLengthBytes> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

// Turns the stated offset into one from the start of the file.
Status CheckTensor(uint64_t data_begin, uint64_t file_bytes, SafetensorsTensor* tensor) {
  uint64_t expected = 0;
  if (!SafetensorsShapeBytes(tensor->shape, tensor->type, &expected)) {
    return InvalidArgumentError("tensor '" + tensor->name + "': its shape overflows");
  }
  if (expected != tensor->bytes) {
    return InvalidArgumentError("tensor '" + tensor->name + "': its shape needs " +
                                std::to_string(expected) + " bytes, its data_offsets span " +
                                std::to_string(tensor->bytes));
  }
  uint64_t begin = 0;
  uint64_t end = 0;
  if (!CheckedAdd(data_begin, tensor->offset, &begin) || !CheckedAdd(begin, tensor->bytes, &end) ||
      end > file_bytes) {
    return DataLossError("tensor '" + tensor->name + "' lies beyond the end of the file (" +
                         std::to_string(file_bytes) + " bytes); the file is truncated");
  }
  tensor->offset = begin;
  return Status();
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(path));
  return Parse(std::move(source));
}

Result<SafetensorsFile> SafetensorsFile::Parse(std::unique_ptr<ByteSource> source) {
  const std::string name = source->name();
  const uint64_t file_bytes = source->bytes();
  if (file_bytes < kLengthBytes) {
    return InvalidArgumentError(name + ": not a safetensors file (" + std::to_string(file_bytes) +
                                " bytes)");
  }
  std::array<std::byte, kLengthBytes> length;
  BERTH_RETURN_IF_ERROR(source->ReadAt(0, length));
  const uint64_t header_bytes = LoadLittle64(length);
  if (header_bytes < 2 || header_bytes > kMaxHeaderBytes) {
    return InvalidArgumentError(name + ": not a safetensors file (a header of " +
                                std::to_string(header_bytes) + " bytes)");
  }
  if (header_bytes > file_bytes - kLengthBytes) {
    return DataLossError(name + ": its header of " + std::to_string(header_bytes) +
                         " bytes lies beyond the end of the file (" + std::to_string(file_bytes) +
                         " bytes); the file is truncated, or no safetensors file");
  }
  std::string json(header_bytes, '\0');
  BERTH_RETURN_IF_ERROR(
      source->ReadAt(kLengthBytes, std::as_writable_bytes(std::span<char>(json))));
  Result<SafetensorsHeader> header = ParseSafetensorsHeader(json);
  if (!header.ok()) return header.status().Annotate(name);
  for (SafetensorsTensor& tensor : header->tensors) {
    Status status = CheckTensor(kLengthBytes + header_bytes, file_bytes, &tensor);
    if (!status.ok()) return status.Annotate(name);
  }
  SafetensorsFile file;
  file.source_ = std::move(source);
  file.tensors_ = std::move(header->tensors);
  file.metadata_ = std::move(header->metadata);
  return file;
}

const SafetensorsTensor* SafetensorsFile::Find(std::string_view name) const {
  for (const SafetensorsTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Status SafetensorsFile::Read(const SafetensorsTensor& tensor, uint64_t offset,
                             std::span<std::byte> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    return OutOfRangeError(name() + ": tensor '" + tensor.name + "' has " +
                           std::to_string(tensor.bytes) + " bytes, asked for " +
                           std::to_string(out.size()) + " at " + std::to_string(offset));
  }
  return source_->ReadAt(tensor.offset + offset, out);
}

}  // namespace berth::io
