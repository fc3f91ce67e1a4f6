#include "bench/yardstick.h"

#include <cstdio>
#include <cstdlib>

namespace berth::bench {

std::string Filled(std::string command,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values) {
    for (size_t at = 0; (at = command.find(name, at)) != command.npos; at += value.size()) {
      command.replace(at, name.size(), value);
    }
  }
  return command;
}

Result<double> LastNumberOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return UnavailableError("cannot run '" + command + "'");
  std::string text;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    text.append(buffer, got);
  }
  if (const int status = pclose(pipe); status != 0) {
    return UnavailableError("'" + command + "' failed with " + std::to_string(status));
  }
  const size_t last = text.find_last_of("0123456789");
  if (last == text.npos) return InvalidArgumentError("'" + command + "' printed no number");
  const size_t before = text.find_last_not_of("0123456789.", last);
  return std::strtod(text.c_str() + (before == text.npos ? 0 : before + 1), nullptr);
}

}  // namespace berth::bench
