#include "io/file/read_text.h"

#include <memory>
#include <span>

#include "io/file/byte_source.h"
#include "runtime/base/format.h"

namespace berth::io {

Result<std::string> ReadText(const std::string& path, uint64_t limit_bytes) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<FileSource> source, FileSource::Open(path));
  if (source->bytes() > limit_bytes) {
    return InvalidArgumentError(path + ": " + FormatBytes(source->bytes()) + ", but at most " +
                                FormatBytes(limit_bytes) + " are read");
  }
  std::string text(source->bytes(), '\0');
  BERTH_RETURN_IF_ERROR(source->ReadAt(0, std::as_writable_bytes(std::span<char>(text))));
  return text;
}

}  // namespace berth::io
