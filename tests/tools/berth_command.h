// Runs the real `berth` as a process of its own.
#ifndef BERTH_TESTS_TOOLS_BERTH_COMMAND_H_
#define BERTH_TESTS_TOOLS_BERTH_COMMAND_H_

#include <string>
#include <vector>

namespace berth::testing {

struct Ran {
  int code = -1;  // 128 + n where signal n ended it
  std::string out;
  std::string err;
};

// `directory`: where it runs. `before`: shell commands run first, such as a limit.
Ran Berth(const std::vector<std::string>& arguments, const std::string& directory = "",
          const std::string& before = "");

// Exactly one line on standard error that begins with "berth: " and contains `part`; the exit code;
// nothing on standard output.
void ExpectOneLine(const Ran& ran, int code, const std::string& part);

}  // namespace berth::testing

#endif  // BERTH_TESTS_TOOLS_BERTH_COMMAND_H_
