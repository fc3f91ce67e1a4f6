// AtomicFile: a new file that appears whole or not at all.
//
// Life: Create -> Append... -> Commit (flushed, synced, renamed over `path`). A writer that is
// destroyed before Commit removes what it wrote; one that is killed leaves only a temporary file
// beside `path` whose name starts with a dot and ends in ".tmp".
#ifndef BERTH_IO_FILE_ATOMIC_FILE_H_
#define BERTH_IO_FILE_ATOMIC_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"

namespace berth::io {

// One writer, one thread.
class AtomicFile {
 public:
  // The temporary lies in the directory of `path`, so that the rename stays in one file system.
  static Result<std::unique_ptr<AtomicFile>> Create(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // ResourceExhausted where the disk is full. After an error only destruction is left.
  Status Append(std::span<const std::byte> bytes);
  // Existing files at `path` are replaced in one step.
  Status Commit();
  uint64_t bytes_appended() const { return bytes_appended_; }

 private:
  AtomicFile(int fd, std::string path, std::string temporary);
  Status Flush();

  int fd_;
  const std::string path_;
  const std::string temporary_;
  std::vector<std::byte> buffer_;
  uint64_t bytes_appended_ = 0;
  bool committed_ = false;
};

}  // namespace berth::io

#endif  // BERTH_IO_FILE_ATOMIC_FILE_H_
