#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/config/toml_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using berth::ConfigType;
  static constexpr std::array<berth::ConfigKey, 6> kKeys = {{{"model", ConfigType::kString},
                                                             {"device", ConfigType::kString, true},
                                                             {"arena", ConfigType::kBytes, true},
                                                             {"chunk", ConfigType::kInteger},
                                                             {"rate", ConfigType::kNumber},
                                                             {"verify", ConfigType::kFlag}}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = berth::ParseTomlConfig(text, "fuzz", kKeys);
  if (!entries.ok()) return 0;
  for (const berth::ConfigEntry& entry : *entries) {
    if (entry.values.empty()) __builtin_trap();
  }
  return 0;
}
