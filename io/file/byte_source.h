// ByteSource: random access to the bytes of a file, for readers that parse headers and tables and
// then read rows through small windows. (Expert bytes go through io/storage.h instead.)
//
// Nothing here maps a file: a file that shrinks while it is open gives a DataLoss, not a SIGBUS.
#ifndef BERTH_IO_FILE_BYTE_SOURCE_H_
#define BERTH_IO_FILE_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "berth/status.h"

namespace berth::io {

// Immutable once made; ReadAt may be called from any thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Size when it was opened.
  virtual uint64_t size() const = 0;
  // Fills all of `out`. DataLoss where the bytes end first, Unavailable for an I/O error; the
  // message names the source and the offset.
  virtual Status ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;
  // The path, or what stands for it in messages.
  virtual const std::string& name() const = 0;
};

// Opens a regular file. Errors: NotFound, PermissionDenied, InvalidArgument (a directory, a pipe).
Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);

// Bytes that the caller keeps alive: tests, fuzzers.
std::unique_ptr<ByteSource> MemorySource(std::span<const std::byte> bytes, std::string name);

// All of a small file as text; InvalidArgument where it is larger than `limit_bytes`.
Result<std::string> ReadText(const ByteSource& source, uint64_t limit_bytes);

}  // namespace berth::io

#endif  // BERTH_IO_FILE_BYTE_SOURCE_H_
