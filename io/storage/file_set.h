// FileSet: the files of a storage, open for reading in one way (direct or through the page cache).
#ifndef BERTH_IO_STORAGE_FILE_SET_H_
#define BERTH_IO_STORAGE_FILE_SET_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/storage/system.h"

namespace berth::io {

// Ok where `path` names a regular file; the size goes to *bytes. Never opens a fifo, which would
// wait for a writer.
Status CheckRegularFile(const std::string& path, uint64_t* bytes);

class FileSet {
 public:
  // An error names the file. With `direct` an InvalidArgument whose message tells that the file
  // system has no O_DIRECT is possible.
  static Result<FileSet> Open(const std::vector<std::string>& paths, bool direct,
                              StorageSystem* system);
  FileSet() = default;
  ~FileSet();
  FileSet(FileSet&& other) noexcept;
  FileSet& operator=(FileSet&& other) noexcept;

  size_t size() const { return fds_.size(); }
  std::span<const int> fds() const { return fds_; }
  int fd(uint32_t file) const { return fds_[file]; }
  uint64_t bytes(uint32_t file) const { return bytes_[file]; }
  // For messages; "file N" where there is no such file.
  std::string_view path(uint32_t file) const;

 private:
  void CloseAll();

  std::vector<int> fds_;
  std::vector<uint64_t> bytes_;
  std::vector<std::string> paths_;
};

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_FILE_SET_H_
