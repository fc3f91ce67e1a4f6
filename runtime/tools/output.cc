#include "runtime/tools/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "io/file/output_file.h"
#include "io/gguf/gguf_shards.h"
#include "runtime/catalog/sidecar.h"

namespace berth::tools {
namespace {

std::vector<std::string> FilesOf(const std::string& model) {
  std::vector<std::string> files = {model};
  const Result<io::GgufShards> shards = io::ReadGgufShards(model);
  if (!shards.ok()) return files;  // the work will say what is wrong with it
  for (const io::GgufFile& file : shards->files) files.push_back(file.path);
  files.push_back(catalog::SidecarPath(shards->files.front().path));
  return files;
}

Status CheckFolder(const std::string& flag, const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (access(folder.c_str(), W_OK | X_OK) != 0) return ErrnoError(errno, flag + ": " + folder);
  return Status();
}

// Not blocking, because a pipe waits for its reader.
Result<int> OpenStream(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 && errno == ENXIO) {
    return InvalidArgumentError("--json " + path +
                                ": nobody reads from it: start the reader first");
  }
  if (fd < 0) return ErrnoError(errno, "--json " + path);
  (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

Status WriteAll(int fd, const std::string& name, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t put = write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno != EINTR) return ErrnoError(errno, name);
    if (put > 0) done += static_cast<size_t>(put);
  }
  return Status();
}

}  // namespace

bool PrintsTables(const std::string& json_path) { return json_path != "-"; }

Status CheckOutputFile(const std::string& flag, const std::string& path, const std::string& model,
                       std::span<const std::string> inputs) {
  if (path == "-") {
    return InvalidArgumentError(flag +
                                " -: this is written to files only: name one (./- if it is "
                                "to have this name)");
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return ErrnoError(errno, flag + " " + path);
  } else if (S_ISDIR(info.st_mode)) {
    return ErrnoError(EISDIR, flag + " " + path);
  } else if (!S_ISREG(info.st_mode)) {
    return InvalidArgumentError(flag + " " + path + ": is no file");
  } else {
    BERTH_RETURN_IF_ERROR(io::CheckIsNoInput(path, FilesOf(model), "a file of the model itself"));
    BERTH_RETURN_IF_ERROR(io::CheckIsNoInput(path, inputs, "an input of this very run"));
  }
  BERTH_RETURN_IF_ERROR(CheckFolder(flag, path));
  if (lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    const bool json = flag == "--json";
    return InvalidArgumentError(flag + " " + path + ": is a link: name the file itself" +
                                (json ? ", or - for standard output" : ""));
  }
  return Status();
}

Result<JsonOutput> JsonOutput::Open(const std::string& path, const std::string& model,
                                    std::span<const std::string> inputs) {
  JsonOutput output(path);
  if (path.empty() || path == "-") return output;
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
    BERTH_ASSIGN_OR_RETURN(output.fd_, OpenStream(path));
    return output;
  }
  BERTH_RETURN_IF_ERROR(CheckOutputFile("--json", path, model, inputs));
  return output;
}

JsonOutput::JsonOutput(JsonOutput&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

JsonOutput::~JsonOutput() {
  if (fd_ >= 0) close(fd_);
}

Status JsonOutput::Write(const nlohmann::json& json) {
  // Names out of a file may be no UTF-8: replaced, not thrown about.
  const std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (path_ == "-") {
    BERTH_RETURN_IF_ERROR(FlushStandardOutput());
    return WriteAll(STDOUT_FILENO, "standard output", text);
  }
  if (fd_ >= 0) return WriteAll(fd_, path_, text);
  return io::WriteWholeFile(path_, std::as_bytes(std::span(text)), {.replace = true});
}

Status Print(const std::string& text) {
  errno = 0;
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return Status();
  return UnavailableError(std::string(ErrnoError(errno, "standard output").message()));
}

Status FlushStandardOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status();
  // An earlier write failed, of a buffer that was full: why, nobody knows any more.
  if (errno == 0) return UnavailableError("standard output: not all of it could be written");
  // Whatever the reason, the work failed and not the request.
  return UnavailableError(std::string(ErrnoError(errno, "standard output").message()));
}

}  // namespace berth::tools
