// safetensors files: a JSON header that names tensors, then their bytes.
//
// Source of the format: github.com/huggingface/safetensors, README "Format": 8 bytes little-endian
// header length, that many bytes of JSON ({"name": {"dtype", "shape", "data_offsets": [begin,
// end)}, ..., "__metadata__": {string: string}}), then the data; offsets count from its start.
//
// Only the header is held in memory. Tensors are read in pieces, through ByteSource::ReadAt.
#ifndef BERTH_IO_SAFETENSORS_SAFETENSORS_H_
#define BERTH_IO_SAFETENSORS_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/file/byte_source.h"

namespace berth::io {

enum class SafetensorsType : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};
std::string_view SafetensorsTypeName(SafetensorsType type);  // "U8", "F16", ...
uint32_t SafetensorsTypeBytes(SafetensorsType type);

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kU8;
  std::vector<uint64_t> shape;
  uint64_t offset = 0;  // from the start of the file
  uint64_t bytes = 0;   // product of the shape times the type's size
};

// Immutable once open; read from any thread.
class SafetensorsFile {
 public:
  static Result<SafetensorsFile> Open(const std::string& path);
  // The same from any source, which the file then owns. Everything is checked here: the header's
  // length against the source's size (and at most 100 MB, as the format's own reader has it), each
  // tensor's type, its shape against its bytes, its bytes against the file. InvalidArgument for
  // what contradicts itself, DataLoss for what lies beyond the end, Unimplemented for a type that
  // is not in the list above.
  static Result<SafetensorsFile> Parse(std::unique_ptr<ByteSource> source);

  const std::string& name() const { return source_->name(); }
  std::span<const SafetensorsTensor> tensors() const { return tensors_; }  // in header order
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Null where there is none.
  const SafetensorsTensor* Find(std::string_view name) const;
  // Bytes [offset, offset + out.size()) of the tensor; OutOfRange beyond its end.
  Status Read(const SafetensorsTensor& tensor, uint64_t offset, std::span<std::byte> out) const;

 private:
  SafetensorsFile() = default;
  std::unique_ptr<ByteSource> source_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace berth::io

#endif  // BERTH_IO_SAFETENSORS_SAFETENSORS_H_
