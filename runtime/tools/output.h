// Where results go: tables for people on standard output, JSON for machines where --json says.
#ifndef BERTH_RUNTIME_TOOLS_OUTPUT_H_
#define BERTH_RUNTIME_TOOLS_OUTPUT_H_

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "berth/status.h"

namespace berth::tools {

// What --json names: "-" is standard output; a regular file is written whole or not at all and
// replaces what was there; anything else that exists (a pipe, a device) is written to.
class JsonOutput {
 public:
  // Before the work, which may take long: Ok where Write will find a place for `path`, or there is
  // nothing to write (empty). InvalidArgument if it would take the place of a file of `model`
  // (shards, checksums) or of one of `inputs` (an empty one is no file), or is a pipe that nobody
  // reads. A pipe or a device is held open from here on, so that its reader waits for the result.
  static Result<JsonOutput> Open(const std::string& path, const std::string& model,
                                 std::span<const std::string> inputs = {});
  JsonOutput(JsonOutput&& other) noexcept;
  JsonOutput& operator=(JsonOutput&&) = delete;
  ~JsonOutput();

  // Once, and only where there is something to write.
  Status Write(const nlohmann::json& json);

 private:
  explicit JsonOutput(std::string path) : path_(std::move(path)) {}

  std::string path_;
  int fd_ = -1;  // of a pipe or a device
};

// Before the work: Ok where a file can be written to `path`, which the flag `flag` names, or take
// the place of one that is there. InvalidArgument for a file of `model` or one of `inputs` (an
// empty one is no file), a link, a folder, a pipe or a device.
Status CheckOutputFile(const std::string& flag, const std::string& path, const std::string& model,
                       std::span<const std::string> inputs);

// True if tables for people should be printed: not when JSON takes standard output.
bool PrintsTables(const std::string& json_path);

// Writes out what was printed so far; not ok if any of it could not be written.
Status FlushStandardOutput();
// Prints `text` and flushes; says why where standard output does not take it.
Status Print(const std::string& text);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_OUTPUT_H_
