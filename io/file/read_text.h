// A small file as text: configurations, profiles.
#ifndef BERTH_IO_FILE_READ_TEXT_H_
#define BERTH_IO_FILE_READ_TEXT_H_

#include <cstdint>
#include <string>

#include "berth/status.h"

namespace berth::io {

// InvalidArgument where the file is larger than `limit_bytes`; otherwise as FileSource::Open and
// ByteSource::ReadAt.
Result<std::string> ReadText(const std::string& path, uint64_t limit_bytes);

}  // namespace berth::io

#endif  // BERTH_IO_FILE_READ_TEXT_H_
