#include <csignal>

#include "runtime/tools/command.h"

int main(int argc, char** argv) {
  // A file beyond the limit of `ulimit -f` is then an error of the write, with a line that says so.
  std::signal(SIGXFSZ, SIG_IGN);
  return berth::tools::RunCommandLine(argc, argv);
}
