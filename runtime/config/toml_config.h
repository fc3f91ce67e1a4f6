// berth.toml: the flags of a command, written down. Keys are the long names of the flags.
//
//   model = "model.gguf"
//   device = ["host:0", "host:1"]     # a repeatable flag is a list
//   arena = "1.5GB"
//   chunk = 64
#ifndef BERTH_RUNTIME_CONFIG_TOML_CONFIG_H_
#define BERTH_RUNTIME_CONFIG_TOML_CONFIG_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"

namespace berth {

enum class ConfigType : uint8_t {
  kString,
  kInteger,      // whole, not negative
  kNumber,       // whole or not
  kBytes,        // a whole number, or a string that ParseBytes takes
  kBytesOrAuto,  // kBytes, or the word auto
  kFlag,         // true or false
};

struct ConfigKey {
  std::string_view name;
  ConfigType type = ConfigType::kString;
  bool repeatable = false;  // takes a list (or one value)
};

// A key of the file with its values as they would stand on the command line ("true" and "false"
// for flags).
struct ConfigEntry {
  std::string key;
  std::vector<std::string> values;
  uint32_t line = 0;
};

// Entries in the order of the file. InvalidArgument, "<name>:<line>: ...", for what is no TOML, a
// key that is not in `keys` (with the nearest that is), a value of the wrong type, a table. Text of
// more than 1 MiB is refused. `name` is for messages.
Result<std::vector<ConfigEntry>> ParseTomlConfig(std::string_view text, std::string_view name,
                                                 std::span<const ConfigKey> keys);
// The same from a file.
Result<std::vector<ConfigEntry>> ReadTomlConfig(const std::string& path,
                                                std::span<const ConfigKey> keys);

}  // namespace berth

#endif  // BERTH_RUNTIME_CONFIG_TOML_CONFIG_H_
