// GGUF headers, version 2 and 3, little-endian: metadata and tensor table of one file.
// Layout: github.com/ggml-org/ggml, docs/gguf.md.
//
// The parser trusts no length. It reads the header through a small window, keeps strings and short
// numeric arrays, records where the rest lies, and allocates no more than a small multiple of the
// header's own bytes. Tensor data is not touched.
#ifndef BERTH_IO_GGUF_GGUF_H_
#define BERTH_IO_GGUF_GGUF_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/file/byte_source.h"

namespace berth::io {

enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
std::string_view GgufTypeName(GgufType type);  // "u32", "string", "array", ...
// Bytes of one value; 0 for strings and arrays.
uint32_t GgufTypeBytes(GgufType type);

inline constexpr uint32_t kGgufDefaultAlignment = 32;
inline constexpr uint32_t kGgufMaxDims = 4;

struct GgufKeyValue {
  std::string key;
  GgufType type = GgufType::kUint8;
  // The whole entry (key, type, value) in the file, so that it can be carried over as it is.
  uint64_t entry_offset = 0;
  uint64_t entry_bytes = 0;
  // Strings: the text. Numbers: their little-endian bytes. Numeric arrays of at most
  // kKeptArrayBytes: the elements' bytes. Longer arrays and arrays of strings: empty.
  std::string raw;
  GgufType element_type = GgufType::kUint8;  // of an array
  uint64_t element_count = 0;                // of an array
  static constexpr uint64_t kKeptArrayBytes = 64 << 10;

  // An integer that is not negative, of whatever width; absent for anything else.
  std::optional<uint64_t> AsUint() const;
  // The text of a string; absent for anything else.
  std::optional<std::string_view> AsString() const;
  // The elements of a kept array of unsigned or non-negative integers; absent otherwise.
  std::optional<std::vector<uint64_t>> AsUintArray() const;
};

struct GgufTensor {
  std::string name;
  uint32_t type = 0;  // ggml type id; any value, the parser knows no types
  uint32_t dims = 0;
  std::array<uint64_t, kGgufMaxDims> ne = {1, 1, 1, 1};  // innermost first
  uint64_t offset = 0;                                   // in the file
  uint64_t room_bytes = 0;  // to the next tensor or the end of the file: at most its size
  // "256 x 512 x 16", as many as it has.
  std::string Shape() const;
};

struct GgufFile {
  std::string path;
  uint64_t bytes = 0;
  uint32_t version = 0;
  uint32_t alignment = kGgufDefaultAlignment;
  uint64_t data_offset = 0;  // of the data section; may lie beyond the end if there are no tensors
  std::vector<GgufKeyValue> metadata;  // in file order, keys distinct
  std::vector<GgufTensor> tensors;     // in file order, names distinct

  const GgufKeyValue* Find(std::string_view key) const;
};

// Errors name the source, what was expected and what was found: InvalidArgument (not a GGUF,
// contradictions), Unimplemented (version 1, big-endian, nested arrays), DataLoss (truncated).
Result<GgufFile> ParseGguf(const ByteSource& source);
Result<GgufFile> ReadGguf(const std::string& path);

}  // namespace berth::io

#endif  // BERTH_IO_GGUF_GGUF_H_
