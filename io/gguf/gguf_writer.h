// GgufLayout: the header of a GGUF file to be written and where each tensor's data will lie.
//
// Add all keys and tensors, then Finish; write header() at byte 0 and each tensor's bytes at
// tensor_offset(i). Everything between is zero padding.
#ifndef BERTH_IO_GGUF_GGUF_WRITER_H_
#define BERTH_IO_GGUF_GGUF_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/gguf/gguf.h"

namespace berth::io {

class GgufLayout {
 public:
  // `alignment`: a power of two; general.alignment is written where it differs from the default.
  explicit GgufLayout(uint32_t version = 3, uint32_t alignment = kGgufDefaultAlignment);

  void AddString(std::string_view key, std::string_view value);
  void AddUint16(std::string_view key, uint16_t value);
  void AddUint32(std::string_view key, uint32_t value);
  void AddInt32(std::string_view key, int32_t value);
  void AddUint32Array(std::string_view key, std::span<const uint32_t> values);
  void AddStringArray(std::string_view key, std::span<const std::string> values);
  // An entry as it stands in another file (GgufKeyValue::entry_offset, entry_bytes).
  void AddEntry(std::span<const std::byte> entry);
  // Returns the tensor's index. `ne` innermost first, at most kGgufMaxDims.
  size_t AddTensor(std::string_view name, uint32_t type, std::span<const uint64_t> ne,
                   uint64_t bytes);

  // Fixes all offsets. InvalidArgument if sizes overflow.
  Status Finish();
  std::span<const std::byte> header() const;
  uint64_t tensor_offset(size_t index) const { return tensors_[index].offset; }
  uint64_t tensor_bytes(size_t index) const { return tensors_[index].bytes; }
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Tensor {
    std::string name;
    uint32_t type;
    std::vector<uint64_t> ne;
    uint64_t bytes;
    uint64_t offset = 0;
  };
  void Key(std::string_view key, GgufType type);

  uint32_t version_;
  uint32_t alignment_;
  uint64_t key_count_ = 0;
  std::string metadata_;
  std::vector<Tensor> tensors_;
  std::string header_;
  uint64_t file_bytes_ = 0;
};

}  // namespace berth::io

#endif  // BERTH_IO_GGUF_GGUF_WRITER_H_
