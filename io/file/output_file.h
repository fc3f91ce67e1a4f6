// OutputFile: a file that appears whole or not at all.
//
//   Create -> (unnamed file in the target's folder) -> WriteAt... -> Commit -> the name appears
//
// Commit is Sync, Publish, SyncFolder; of several files that belong together CommitAll does each
// of these for all of them before the next.
//
// Until Commit nothing has the target's name. The bytes live in an unnamed file (O_TMPFILE), which
// the kernel frees however the process ends; where the file system has none, in
// `.<name>.berth-<pid>.tmp` beside the target, which the destructor removes and which a later
// Create of the same target removes if its process died. Whatever can be refused early is: Create
// opens everything that Commit needs.
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
  // InvalidArgument for "-": who gives it means standard output. FailedPrecondition if `path`
  // exists and may not be replaced, ResourceExhausted if the file system has no `bytes` left (they
  // are reserved), PermissionDenied for a read-only folder.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& path, uint64_t bytes,
                                                    const OutputOptions& options = {});
  ~OutputFile();  // without Commit: nothing is left
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  // Any number of threads at once. Of a large piece in a PhasedBuffer the whole pages go past the
  // page cache, which is several times faster than through it.
  Status WriteAt(uint64_t offset, std::span<const std::byte> from);
  // Writes everything to the drive, then gives the file its name. Once. After a failure the name is
  // as it was, with one exception that the message states: a file that has replaced another stays
  // if the folder cannot be synced, for there is nothing to go back to.
  Status Commit();

  // The steps of Commit, in this order.
  Status Sync();
  Status Publish();
  Status SyncFolder();
  // Takes the name back that Publish gave, unless another file had it before.
  void Withdraw();
  // Publish put this file in the place of another.
  bool replaced() const { return replaced_; }

 private:
  OutputFile(std::string path, const OutputOptions& options)
      : path_(std::move(path)), options_(options) {}
  Status OpenFolder();
  Status OpenTemporary();
  Status OpenNamedTemporary();
  Status Reserve(uint64_t bytes);
  Status Put(int fd, uint64_t offset, std::span<const std::byte> from);
  bool PutDirect(uint64_t offset, std::span<const std::byte> from);
  Status PublishUnnamed();
  Status PublishNamed();
  Status Replace();
  std::string TemporaryName() const;
  std::string folder() const;
  std::string Failed(std::string_view what) const;

  std::string path_;
  OutputOptions options_;
  std::string temporary_;  // its name; empty: unnamed
  bool published_ = false;
  bool replaced_ = false;
  int folder_fd_ = -1;  // -1: a folder that may be written to and not read
  int fd_ = -1;
  int direct_fd_ = -1;  // the same file, O_DIRECT; -1 where the file system has none
};

// Commits files that make sense together only, in one folder: all are on the drive before the first
// gets its name, and the first file of the list, by which a reader finds the others, gets it last.
// After a failure none of them is there, unless one has replaced another file: the message says so.
Status CommitAll(std::span<const std::unique_ptr<OutputFile>> files);

// InvalidArgument if `output` is one of the files `inputs`, by whatever name: "<output>: is <what>:
// name another output". Names that are empty or not there are no files.
Status CheckIsNoInput(const std::string& output, std::span<const std::string> inputs,
                      std::string_view what);

// Whether two names, of files that need not be there yet, are one place.
bool SamePlace(const std::string& a, const std::string& b);

// A small file, whole or not at all.
Status WriteWholeFile(const std::string& path, std::span<const std::byte> bytes,
                      const OutputOptions& options = {});

}  // namespace berth::io

#endif  // BERTH_IO_FILE_OUTPUT_FILE_H_
