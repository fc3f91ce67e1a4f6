#include "runtime/tools/help.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace berth::tools {
namespace {

// Where descriptions begin.
constexpr size_t kDescriptionColumn = 30;

// One line in several of at most `columns`; what is carried over stands two blanks further in than
// a line that is indented itself, and flush with one that is not. A longer word stays whole.
std::string Wrapped(std::string_view line, size_t columns) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string hang(indent == 0 ? 0 : indent + 2, ' ');
  std::string text(line.substr(0, indent));
  size_t column = indent;
  bool first = true;
  for (const absl::string_view word :
       absl::StrSplit(absl::string_view(line.data() + indent, line.size() - indent), ' ')) {
    if (!first && column + 1 + word.size() > columns) {
      text += "\n" + hang;
      column = hang.size();
      first = true;
    }
    if (!first) text += ' ';
    column += word.size() + (first ? 0 : 1);
    text.append(word.data(), word.size());
    first = false;
  }
  return text;
}

std::string Description(const std::string& description) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(description, '\n')) {
    if (!text.empty()) text += '\n';
    text += Wrapped({line.data(), line.size()}, kHelpColumns - kDescriptionColumn);
  }
  return text;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kDescriptionColumn); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return Description(option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::string name = "  " + command->get_name();
    if (name.size() < kDescriptionColumn) name.resize(kDescriptionColumn, ' ');
    const std::string text = Description(command->get_description());
    return name +
           absl::StrJoin(absl::StrSplit(text, '\n'), "\n" + std::string(kDescriptionColumn, ' ')) +
           "\n";
  }
};

}  // namespace

void WrapHelp(CLI::App* app) { app->formatter(std::make_shared<HelpFormatter>()); }

}  // namespace berth::tools
