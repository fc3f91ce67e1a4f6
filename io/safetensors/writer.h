// Writes a safetensors file: shapes first, then the tensors' bytes, in the same order or each at
// its place.
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

// One writer, one thread. The file appears at Commit or not at all (io/file/output_file.h).
class SafetensorsWriter {
 public:
  static Result<std::unique_ptr<SafetensorsWriter>> Create(
      const std::string& path, std::span<const SafetensorsDeclaration> tensors,
      const std::map<std::string, std::string>& metadata,
      const OutputOptions& options = {.replace = true});

  // The next bytes of the data: all of the first tensor, then all of the second, ... in pieces of
  // any size.
  Status Append(std::span<const std::byte> bytes);
  // Bytes [offset, offset + bytes.size()) of the tensor, by its place in the list; every byte once,
  // in any order. Of one file either Append or WriteAt. Nothing is buffered: come with many.
  Status WriteAt(size_t tensor, uint64_t offset, std::span<const std::byte> bytes);
  // FailedPrecondition where bytes are missing.
  Status Commit();

 private:
  SafetensorsWriter(std::unique_ptr<OutputFile> file, std::vector<uint64_t> starts)
      : file_(std::move(file)), starts_(std::move(starts)), bytes_left_(starts_.back()) {}
  Status Write(std::span<const std::byte> bytes);
  Status Flush();

  std::unique_ptr<OutputFile> file_;
  std::vector<uint64_t> starts_;   // of each tensor, and the end; from the start of the data
  std::vector<std::byte> buffer_;  // rows are short, writes should not be
  uint64_t header_bytes_ = 0;      // what stands in front of the data
  uint64_t flushed_bytes_ = 0;
  uint64_t bytes_left_;  // of the tensors
};

}  // namespace berth::io

#endif  // BERTH_IO_SAFETENSORS_WRITER_H_
