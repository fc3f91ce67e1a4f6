#include "runtime/tools/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "io/file/output_file.h"

namespace berth::tools {
namespace {

Status WriteStream(std::FILE* stream, const std::string& name, const std::string& text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() || std::fflush(stream) != 0) {
    return ErrnoError(errno, name);
  }
  return Status();
}

}  // namespace

bool PrintsTables(const std::string& json_path) { return json_path != "-"; }

Status CheckJson(const std::string& path) {
  if (path.empty() || path == "-") return Status();
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return ErrnoError(EISDIR, "--json " + path);
  if (exists && !S_ISREG(info.st_mode)) return Status();
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (access(folder.c_str(), W_OK | X_OK) != 0) return ErrnoError(errno, "--json: " + folder);
  return Status();
}

Status WriteJson(const std::string& path, const nlohmann::json& json) {
  // Names out of a file may be no UTF-8: replaced, not thrown about.
  const std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (path == "-") return WriteStream(stdout, "standard output", text);
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
    return io::WriteWholeFile(path, std::as_bytes(std::span(text)), {.replace = true});
  }
  std::FILE* stream = std::fopen(path.c_str(), "we");
  if (stream == nullptr) return ErrnoError(errno, path);
  Status status = WriteStream(stream, path, text);
  std::fclose(stream);
  return status;
}

}  // namespace berth::tools
