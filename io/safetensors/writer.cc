#include "io/safetensors/writer.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/safetensors/types.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

// The header, padded with spaces so that the data starts at a multiple of 8.
Result<std::string> HeaderText(std::span<const SafetensorsDeclaration> tensors,
                               const std::map<std::string, std::string>& metadata,
                               uint64_t* data_bytes) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (const SafetensorsDeclaration& tensor : tensors) {
    uint64_t bytes = 0;
    uint64_t end = 0;
    if (!SafetensorsShapeBytes(tensor.shape, tensor.type, &bytes) || !CheckedAdd(at, bytes, &end)) {
      return InvalidArgumentError("tensor '" + tensor.name + "': its shape overflows");
    }
    header[tensor.name] = {{"dtype", SafetensorsTypeName(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, end}}};
    at = end;
  }
  *data_bytes = at;
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize(AlignUp(text.size(), 8), ' ');
  return text;
}

}  // namespace

Result<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, std::span<const SafetensorsDeclaration> tensors,
    const std::map<std::string, std::string>& metadata) {
  uint64_t data_bytes = 0;
  Result<std::string> header = HeaderText(tensors, metadata, &data_bytes);
  if (!header.ok()) return header.status().Annotate(path);
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<AtomicFile> file, AtomicFile::Create(path));
  std::array<std::byte, 8> length;
  for (size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(header->size() >> (8 * i));
  }
  BERTH_RETURN_IF_ERROR(file->Append(length));
  BERTH_RETURN_IF_ERROR(file->Append(std::as_bytes(std::span<const char>(*header))));
  return std::unique_ptr<SafetensorsWriter>(
      new SafetensorsWriter(std::move(file), path, data_bytes));
}

Status SafetensorsWriter::Append(std::span<const std::byte> bytes) {
  if (bytes.size() > bytes_left_) {
    return FailedPreconditionError(path_ + ": " + std::to_string(bytes.size() - bytes_left_) +
                                   " bytes more than its tensors have");
  }
  bytes_left_ -= bytes.size();
  return file_->Append(bytes);
}

Status SafetensorsWriter::Commit() {
  if (bytes_left_ != 0) {
    return FailedPreconditionError(path_ + ": " + std::to_string(bytes_left_) +
                                   " bytes of its tensors were not written");
  }
  return file_->Commit();
}

}  // namespace berth::io
