#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/tools/command.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/help.h"
#include "runtime/tools/output.h"

namespace berth::tools {
namespace {

constexpr char kVersion[] = BERTH_VERSION;

void PrintError(const std::string& command, std::string message) {
  // One line, whatever an error quotes from a file.
  std::replace_if(
      message.begin(), message.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  const std::string prefix = command.empty() ? "berth: " : "berth: " + command + ": ";
  std::fprintf(stderr, "%s%s\n", prefix.c_str(), message.c_str());
}

// The innermost subcommand that was named.
const CLI::App* NamedCommand(const CLI::App& root) {
  const CLI::App* at = &root;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::vector<std::string> KnownWords(const CLI::App& app, bool flags) {
  std::vector<std::string> words;
  if (flags) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  } else {
    for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
  }
  return words;
}

std::string UnknownWord(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  const std::string word = extras.empty() ? "" : extras.front().substr(0, extras.front().find('='));
  const bool flag = word.starts_with("-");
  const std::vector<std::string> known = KnownWords(app, flag);
  const std::vector<std::string_view> views(known.begin(), known.end());
  const bool command = !flag && !views.empty();
  return std::string(flag      ? "unknown flag '"
                     : command ? "unknown command '"
                               : "unexpected '") +
         word + "'" + DidYouMean(word, views) + "; see --help";
}

int Refuse(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* app = NamedCommand(root);
  std::string name;
  for (const CLI::App* at = app; at != &root; at = at->get_parent()) {
    name = at->get_name() + (name.empty() ? "" : " " + name);
  }
  // What was left over says more than what then seemed to be missing.
  const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (unknown || !app->remaining().empty()) {
    PrintError(name, UnknownWord(*app));
  } else if (!app->get_subcommands({}).empty()) {
    PrintError(name, "a command is missing; see --help");
  } else {
    PrintError(name, error.what());
  }
  return 2;
}

// Where a standard stream is closed, the next file that is opened would take its number, and what
// is printed would end up in that file. Streams that refuse every use keep the places.
void HoldStandardStreams() {
  for (const int fd : {0, 1, 2}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

// The exit code, given what could be printed.
int Finish(const std::string& command, const Status& status) {
  const Status printed = FlushStandardOutput();
  const Status& all = status.ok() ? printed : status;
  if (!all.ok()) PrintError(command, std::string(all.message()));
  return ExitCodeOf(all);
}

int Run(Command* command) {
  Status status;
  try {
    status = command->Run();
  } catch (const std::bad_alloc&) {
    status = ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    // Libraries at the edge throw (JSON, streams); a person gets a line all the same.
    status = InternalError(error.what());
  }
  return Finish(command->label(), status);
}

}  // namespace

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kOutOfRange:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
      return 2;
    default:
      return 1;
  }
}

int RunCommandLine(int argc, const char* const* argv) {
  HoldStandardStreams();
  CLI::App app("A parking place for every expert of a mixture-of-experts model", "berth");
  WrapHelp(&app);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("berth ") + kVersion);
  const std::vector<std::unique_ptr<Command>> commands = MakeCommands();
  std::vector<CLI::App*> subcommands;
  for (const auto& command : commands) {
    CLI::App* sub = app.add_subcommand(command->name(), command->summary());
    command->AddOptions(sub);
    subcommands.push_back(sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return Refuse(app, error);
    std::ostringstream text;  // --help, --version
    app.exit(error, text, text);
    return Finish("", Print(text.str()));
  }
  for (size_t i = 0; i < commands.size(); ++i) {
    if (subcommands[i]->parsed()) return Run(commands[i].get());
  }
  return 2;
}

}  // namespace berth::tools
