// What --help prints, and what a report looks like on a terminal.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/runtime/small_model.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

constexpr size_t kColumns = 100;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The names that stand in column 2 below "Subcommands:".
std::vector<std::string> SubcommandsOf(const std::string& help) {
  std::vector<std::string> names;
  bool there = false;
  for (const std::string& line : LinesOf(help)) {
    if (line == "Subcommands:") {
      there = true;
    } else if (there && line.size() > 2 && line[0] == ' ' && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return names;
}

size_t ExpectHelpFits(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  arguments.push_back("--help");
  const Ran ran = Berth(arguments);
  EXPECT_EQ(ran.code, 0);
  for (const std::string& line : LinesOf(ran.out)) {
    EXPECT_LE(line.size(), kColumns) << (command.empty() ? "" : command.back()) << ": " << line;
  }
  size_t commands = 1;
  for (const std::string& name : SubcommandsOf(ran.out)) {
    std::vector<std::string> below = command;
    below.push_back(name);
    commands += ExpectHelpFits(below);
  }
  return commands;
}

TEST(Help, FitsATerminal) { EXPECT_GE(ExpectHelpFits({}), 15u); }

TEST(Help, WrapsAtWordsAndKeepsEachPolicyTogether) {
  const std::string help = Berth({"simulate", "--help"}).out;
  const std::string indent(30, ' ');
  EXPECT_NE(help.find("\n" + indent + "  hazard: least worth by odds of return"),
            std::string::npos);
  EXPECT_NE(help.find("\n" + indent + "    "), std::string::npos);
  EXPECT_NE(help.find("\n" + indent + "  lru: least recently used first; no parameters\n"),
            std::string::npos);
}

TEST(Help, ReportsFitATerminal) {
  const SmallModel& model = SmallModel::Get();
  const Ran ran = Berth({"simulate", "--trace", model.trace, "--unit-bytes", "1MB", "--arena",
                         "60MB", "--host-tier", "20MB"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  bool table = false;
  for (const std::string& line : LinesOf(ran.out)) {
    table = table || line.starts_with("tier");
    if (!table) continue;
    EXPECT_LE(line.size(), kColumns) << line;
  }
  EXPECT_TRUE(table);
}

}  // namespace
}  // namespace berth::testing
