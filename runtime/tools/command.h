// Command: one subcommand of `berth`.
//
// To add one: a file `<name>_command.cc` that defines Make<Name>Command(), a line in commands.h, a
// line in CMakeLists.txt. What it prints for people goes to standard output, errors and progress to
// standard error.
#ifndef BERTH_RUNTIME_TOOLS_COMMAND_H_
#define BERTH_RUNTIME_TOOLS_COMMAND_H_

#include <CLI/CLI.hpp>
#include <string>

#include "berth/status.h"

namespace berth::tools {

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string name() const = 0;
  // What errors are named after: with the subcommand that was asked for, where there are any.
  virtual std::string label() const { return name(); }
  // One line for `berth --help`.
  virtual std::string summary() const = 0;
  // Declares flags and arguments; they write into members of the command.
  virtual void AddOptions(CLI::App* app) = 0;
  // Called once, after a successful parse. The status decides the exit code (ExitCodeOf) and, if
  // it is not ok, is printed as one line: "berth: <label>: <message>".
  virtual Status Run() = 0;
};

// 0 done; 1 the work failed; 2 the request was wrong.
int ExitCodeOf(const Status& status);

// Parses the arguments, runs the command they name and returns the exit code.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_COMMAND_H_
