// OutputFile: a file that appears whole or not at all.
//
//   Create -> (unnamed file in the target's folder) -> WriteAt... -> Commit -> the name appears
//
// Until Commit nothing has the target's name. The bytes live in an unnamed file (O_TMPFILE), which
// the kernel frees however the process ends; where the file system has none, in
// `.<name>.berth-<pid>.tmp` beside the target, which the destructor removes and which a later
// Create of the same target removes if its process died.
#ifndef BERTH_IO_FILE_OUTPUT_FILE_H_
#define BERTH_IO_FILE_OUTPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "berth/status.h"

namespace berth::io {

struct OutputOptions {
  bool replace = false;          // an existing file may be replaced
  bool named_temporary = false;  // tests: do not use O_TMPFILE
};

class OutputFile {
 public:
  // FailedPrecondition if `path` exists and may not be replaced, ResourceExhausted if the file
  // system has no `bytes` left (they are reserved), PermissionDenied for a read-only folder.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path, uint64_t bytes,
                                                    const OutputOptions& options = {});
  ~OutputFile();  // without Commit: nothing is left
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  // Any number of threads at once. Of a large piece in a PhasedBuffer the whole pages go past the
  // page cache, which is several times faster than through it.
  Status WriteAt(uint64_t offset, std::span<const std::byte> from);
  // Writes everything to the drive, then gives the file its name. Once.
  Status Commit();

 private:
  OutputFile(std::string path, const OutputOptions& options)
      : path_(std::move(path)), options_(options) {}
  Status OpenTemporary();
  Status OpenNamedTemporary();
  Status Reserve(uint64_t bytes);
  Status Put(int fd, uint64_t offset, std::span<const std::byte> from);
  bool PutDirect(uint64_t offset, std::span<const std::byte> from);
  Status Publish();
  Status PublishOver(const std::string& temporary);
  std::string folder() const;
  std::string Failed(std::string_view what) const;

  std::string path_;
  OutputOptions options_;
  std::string temporary_;  // its name; empty: unnamed
  int fd_ = -1;
  int direct_fd_ = -1;  // the same file, O_DIRECT; -1 where the file system has none
};

// A small file, whole or not at all.
Status WriteWholeFile(const std::string& path, std::span<const std::byte> bytes,
                      const OutputOptions& options = {});

}  // namespace berth::io

#endif  // BERTH_IO_FILE_OUTPUT_FILE_H_
