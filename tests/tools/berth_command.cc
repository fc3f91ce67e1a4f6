#include "tests/tools/berth_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/temporary_directory.h"

extern char** environ;

namespace berth::testing {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

Ran Berth(const std::vector<std::string>& arguments, const std::string& directory,
          const std::string& before) {
  const TemporaryDirectory streams;
  const std::string script = (directory.empty() ? "" : "cd '" + directory + "' && ") +
                             (before.empty() ? "" : before + " && ") + "exec \"$@\"";
  std::vector<std::string> words = {"sh", "-c", script, "sh", BERTH_COMMAND};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string out = streams / "out", err = streams / "err";
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0600);
  Ran ran;
  pid_t child = 0;
  const int spawned = posix_spawn(&child, "/bin/sh", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(spawned, 0);
  if (spawned != 0) return ran;
  int status = 0;
  waitpid(child, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = ReadAll(out);
  ran.err = ReadAll(err);
  return ran;
}

void ExpectOneLine(const Ran& ran, int code, const std::string& part) {
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_EQ(ran.err.rfind("berth: ", 0), 0u) << ran.err;
  EXPECT_FALSE(ran.err.empty());
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
  EXPECT_NE(ran.err.find(part), std::string::npos) << "expected: " << part << "\n" << ran.err;
  EXPECT_EQ(ran.out, "");
}

}  // namespace berth::testing
