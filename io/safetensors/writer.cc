#include "io/safetensors/writer.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/safetensors/types.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

constexpr size_t kFlushBytes = 1u << 20;

// The header, padded with spaces so that the data starts at a multiple of 8.
Result<std::string> HeaderText(std::span<const SafetensorsDeclaration> tensors,
                               const std::map<std::string, std::string>& metadata,
                               std::vector<uint64_t>* starts) {
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
    starts->push_back(at);
    at = end;
  }
  starts->push_back(at);
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize(AlignUp(text.size(), 8), ' ');
  return text;
}

}  // namespace

Result<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::Create(
    const std::string& path, std::span<const SafetensorsDeclaration> tensors,
    const std::map<std::string, std::string>& metadata, const OutputOptions& options) {
  std::vector<uint64_t> starts;
  Result<std::string> header = HeaderText(tensors, metadata, &starts);
  if (!header.ok()) return header.status().Annotate(path);
  std::array<std::byte, 8> length;
  for (size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(header->size() >> (8 * i));
  }
  uint64_t file_bytes = 0;
  if (!CheckedAdd(starts.back(), header->size() + length.size(), &file_bytes)) {
    return InvalidArgumentError(path + ": the tensors together overflow");
  }
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                         OutputFile::Create(path, file_bytes, options));
  std::unique_ptr<SafetensorsWriter> writer(
      new SafetensorsWriter(std::move(file), std::move(starts)));
  writer->header_bytes_ = length.size() + header->size();
  BERTH_RETURN_IF_ERROR(writer->Write(length));
  BERTH_RETURN_IF_ERROR(writer->Write(std::as_bytes(std::span<const char>(*header))));
  return writer;
}

Status SafetensorsWriter::Append(std::span<const std::byte> bytes) {
  if (bytes.size() > bytes_left_) {
    return FailedPreconditionError(file_->path() + ": " +
                                   std::to_string(bytes.size() - bytes_left_) +
                                   " bytes more than its tensors have");
  }
  bytes_left_ -= bytes.size();
  return Write(bytes);
}

Status SafetensorsWriter::WriteAt(size_t tensor, uint64_t offset,
                                  std::span<const std::byte> bytes) {
  if (tensor + 1 >= starts_.size()) {
    return OutOfRangeError(file_->path() + ": tensor " + std::to_string(tensor) + " of " +
                           std::to_string(starts_.size() - 1));
  }
  const uint64_t size = starts_[tensor + 1] - starts_[tensor];
  if (offset > size || bytes.size() > size - offset || bytes.size() > bytes_left_) {
    return FailedPreconditionError(file_->path() + ": bytes beyond those that tensor " +
                                   std::to_string(tensor) + " has");
  }
  bytes_left_ -= bytes.size();
  return file_->WriteAt(header_bytes_ + starts_[tensor] + offset, bytes);
}

Status SafetensorsWriter::Write(std::span<const std::byte> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return buffer_.size() < kFlushBytes ? Status() : Flush();
}

Status SafetensorsWriter::Flush() {
  BERTH_RETURN_IF_ERROR(file_->WriteAt(flushed_bytes_, buffer_));
  flushed_bytes_ += buffer_.size();
  buffer_.clear();
  return Status();
}

Status SafetensorsWriter::Commit() {
  if (bytes_left_ != 0) {
    return FailedPreconditionError(file_->path() + ": " + std::to_string(bytes_left_) +
                                   " bytes of its tensors were not written");
  }
  BERTH_RETURN_IF_ERROR(Flush());
  return file_->Commit();
}

}  // namespace berth::io
