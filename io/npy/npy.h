// NumPy .npy files that hold whole numbers.
//
// Source of the format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html: the bytes
// 93 "NUMPY", version (major, minor), the header's length (2 bytes in version 1, 4 in 2 and 3,
// little-endian), the header (a Python dictionary with the keys 'descr', 'fortran_order' and
// 'shape'), then the data, in C order (last index fastest) or Fortran order (first index fastest).
#ifndef BERTH_IO_NPY_NPY_H_
#define BERTH_IO_NPY_NPY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "io/file/byte_source.h"

namespace berth::io {

// Immutable once open. Only the header is held in memory.
class NpyFile {
 public:
  static Result<NpyFile> Open(const std::string& path);
  // Everything is checked here: the header as a whole, the shape against the file's size, which
  // must fit exactly. Unimplemented for an array of anything but integers of 1, 2, 4 or 8 bytes,
  // DataLoss for data beyond the end.
  static Result<NpyFile> Parse(std::unique_ptr<ByteSource> source);

  const std::string& name() const { return source_->name(); }
  const std::vector<uint64_t>& shape() const { return shape_; }
  bool fortran_order() const { return fortran_order_; }
  uint32_t item_bytes() const { return item_bytes_; }
  uint64_t items() const { return items_; }
  // Items [first, first + out.size()) as they follow each other in the file. OutOfRange beyond the
  // last one, and for a value that no int64 holds.
  Status Read(uint64_t first, std::span<int64_t> out) const;

 private:
  NpyFile() = default;
  Status ParseHeader(const std::string& text);

  std::unique_ptr<ByteSource> source_;
  std::vector<uint64_t> shape_;
  bool fortran_order_ = false;
  bool is_signed_ = false;
  bool big_endian_ = false;
  uint32_t item_bytes_ = 0;
  uint64_t items_ = 0;
  uint64_t data_offset_ = 0;
};

}  // namespace berth::io

#endif  // BERTH_IO_NPY_NPY_H_
