// The JSON header of a safetensors file, read event by event: a DOM of a hostile 100 MB header
// would take gigabytes, and would merge a name that stands twice.
#ifndef BERTH_IO_SAFETENSORS_HEADER_H_
#define BERTH_IO_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/safetensors/safetensors.h"

namespace berth::io {

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // offsets from the start of the data, bytes as stated
  std::map<std::string, std::string> metadata;
};

// Structure and types only; shapes against bytes and bytes against the file are the caller's.
// Messages say what and where in the header, without the file's name.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json);

}  // namespace berth::io

#endif  // BERTH_IO_SAFETENSORS_HEADER_H_
