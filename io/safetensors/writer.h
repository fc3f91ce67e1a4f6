// Writes a safetensors file: shapes first, then the tensors' bytes in the same order.
#ifndef BERTH_IO_SAFETENSORS_WRITER_H_
#define BERTH_IO_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "io/file/output_file.h"
#include "io/safetensors/safetensors.h"

namespace berth::io {

struct SafetensorsDeclaration {
  std::string name;
  SafetensorsType type = SafetensorsType::kU8;
  std::vector<uint64_t> shape;
};

// One writer, one thread. The file appears at Commit or not at all (io/file/output_file.h); one
// that is there already is replaced.
class SafetensorsWriter {
 public:
  static Result<std::unique_ptr<SafetensorsWriter>> Create(
      const std::string& path, std::span<const SafetensorsDeclaration> tensors,
      const std::map<std::string, std::string>& metadata);

  // The next bytes of the data: all of the first tensor, then all of the second, ... in pieces of
  // any size.
  Status Append(std::span<const std::byte> bytes);
  // FailedPrecondition where bytes are missing.
  Status Commit();

 private:
  SafetensorsWriter(std::unique_ptr<OutputFile> file, uint64_t data_bytes)
      : file_(std::move(file)), bytes_left_(data_bytes) {}
  Status Write(std::span<const std::byte> bytes);
  Status Flush();

  std::unique_ptr<OutputFile> file_;
  std::vector<std::byte> buffer_;  // rows are short, writes should not be
  uint64_t flushed_bytes_ = 0;
  uint64_t bytes_left_;  // of the tensors
};

}  // namespace berth::io

#endif  // BERTH_IO_SAFETENSORS_WRITER_H_
