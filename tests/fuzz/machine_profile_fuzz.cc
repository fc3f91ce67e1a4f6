#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/config/machine_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = berth::ParseMachineProfile(text, "fuzz");
  if (profile.ok() && profile->storage.bytes_per_s < 0) __builtin_trap();
  return 0;
}
