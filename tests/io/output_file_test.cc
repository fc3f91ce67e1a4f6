// A file that appears whole or not at all.
#include "io/file/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/io/gguf/test_files.h"

namespace {

// Stand in for the C library's, for what a drive does only when it fails.
bool folders_fail = false;
std::function<void(const char* from)> before_rename;

}  // namespace

extern "C" int fsync(int fd) {
  struct stat info;
  if (folders_fail && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  if (before_rename) before_rename(from);
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace berth::io {
namespace {

using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

class OutputFileTest : public ::testing::TestWithParam<bool> {
 protected:
  OutputOptions Options(bool replace = false) const {
    return {.replace = replace, .named_temporary = GetParam()};
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Temporaries, OutputFileTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Named" : "Unnamed"; });

TEST_P(OutputFileTest, AppearsAtCommitOnly) {
  auto file = OutputFile::Create(dir_.File("out"), 8, Options());
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_TRUE((*file)->WriteAt(4, Bytes("5678")).ok());
  ASSERT_TRUE((*file)->WriteAt(0, Bytes("1234")).ok());
  EXPECT_NE(access(dir_.File("out").c_str(), F_OK), 0);
  ASSERT_TRUE((*file)->Commit().ok());
  EXPECT_EQ(ReadFile(dir_.File("out")), "12345678");
  file->reset();
  EXPECT_EQ(dir_.Entries(), std::vector<std::string>{"out"});
}

TEST_P(OutputFileTest, WithoutCommitNothingIsLeft) {
  { ASSERT_TRUE(OutputFile::Create(dir_.File("out"), 8, Options()).ok()); }
  EXPECT_TRUE(dir_.Entries().empty());
}

TEST_P(OutputFileTest, DoesNotReplaceUnasked) {
  WriteFile(dir_.File("out"), "old");
  EXPECT_EQ(OutputFile::Create(dir_.File("out"), 0, Options()).status().code(),
            StatusCode::kFailedPrecondition);
  // Not even one that appears in the meantime.
  auto file = OutputFile::Create(dir_.File("late"), 0, Options());
  ASSERT_TRUE(file.ok());
  WriteFile(dir_.File("late"), "old");
  EXPECT_EQ((*file)->Commit().code(), StatusCode::kFailedPrecondition);
  file->reset();
  EXPECT_EQ(ReadFile(dir_.File("late")), "old");
  EXPECT_EQ(dir_.Entries(), (std::vector<std::string>{"late", "out"}));
}

TEST_P(OutputFileTest, ReplacesWhenAsked) {
  WriteFile(dir_.File("out"), "old");
  ASSERT_TRUE(WriteWholeFile(dir_.File("out"), Bytes("new"), Options(true)).ok());
  EXPECT_EQ(ReadFile(dir_.File("out")), "new");
  EXPECT_EQ(dir_.Entries(), std::vector<std::string>{"out"});
  EXPECT_EQ(WriteWholeFile("/dev/null", Bytes("x"), Options(true)).code(),
            StatusCode::kInvalidArgument);
}

TEST_P(OutputFileTest, RemovesWhatADeadProcessLeft) {
  WriteFile(dir_.File(".out.berth-1.tmp"), "dead");
  WriteFile(dir_.File(".other.berth-1.tmp"), "of another target");
  WriteFile(dir_.File(".out.berth-2.tmp"), "alive");
  const int alive = open(dir_.File(".out.berth-2.tmp").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(alive, LOCK_EX), 0);
  ASSERT_TRUE(WriteWholeFile(dir_.File("out"), Bytes("x"), Options()).ok());
  EXPECT_EQ(dir_.Entries(),
            (std::vector<std::string>{".other.berth-1.tmp", ".out.berth-2.tmp", "out"}));
  close(alive);
}

TEST_P(OutputFileTest, FoldersThatCannotBeWritten) {
  EXPECT_EQ(OutputFile::Create(dir_.File("absent/out"), 0, Options()).status().code(),
            StatusCode::kNotFound);
  // Not even root may create files there.
  const auto file = OutputFile::Create("/proc/self/out", 0, Options());
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("/proc/self"), std::string::npos);
}

TEST_P(OutputFileTest, AFolderThatCannotBeSynced) {
  folders_fail = true;
  const Status fresh = WriteWholeFile(dir_.File("fresh"), Bytes("new"), Options());
  WriteFile(dir_.File("old"), "old");
  const Status replacing = WriteWholeFile(dir_.File("old"), Bytes("new"), Options(true));
  folders_fail = false;
  // Nothing is lost by taking a new name back.
  EXPECT_EQ(fresh.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(fresh.message().starts_with(dir_.File("fresh"))) << fresh.message();
  EXPECT_NE(fresh.message().find("nothing was left behind"), std::string::npos);
  EXPECT_EQ(dir_.Entries(), std::vector<std::string>{"old"});
  // There is no way back to what was replaced: the message must not deny it.
  EXPECT_EQ(replacing.code(), StatusCode::kUnavailable);
  EXPECT_NE(replacing.message().find("was replaced"), std::string::npos) << replacing.message();
  EXPECT_EQ(replacing.message().find("nothing was left"), std::string::npos);
  EXPECT_EQ(ReadFile(dir_.File("old")), "new");
}

TEST_P(OutputFileTest, DescriptorsRunOutBeforeTheWork) {
  for (int room = 0; room < 4; ++room) {
    SCOPED_TRACE(room);
    const std::string path = dir_.File("out" + std::to_string(room));
    // Before descriptors run out: the sanitizer's check of virtual objects needs some.
    const OutputOptions options = Options();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const int free = dup(0);
      close(free);
      const rlim_t most = static_cast<rlim_t>(free + room);
      const rlimit limit = {most, most};
      setrlimit(RLIMIT_NOFILE, &limit);
      auto file = OutputFile::Create(path, 0, options);
      if (!file.ok()) _exit(file.status().code() == StatusCode::kResourceExhausted ? 0 : 1);
      _exit((*file)->Commit().ok() ? 0 : 2);
    }
    int result = 0;
    ASSERT_EQ(waitpid(child, &result, 0), child);
    EXPECT_TRUE(WIFEXITED(result));
    EXPECT_EQ(WEXITSTATUS(result), 0);
  }
}

TEST_P(OutputFileTest, ANamedTemporaryIsLocked) {
  WriteFile(dir_.File("out"), "old");
  int renames = 0;
  before_rename = [&](const char* from) {
    ++renames;
    const int fd = open(from, O_RDONLY | O_CLOEXEC);
    EXPECT_GE(fd, 0);
    EXPECT_NE(flock(fd, LOCK_EX | LOCK_NB), 0) << "another process would remove it";
    close(fd);
  };
  const Status status = WriteWholeFile(dir_.File("out"), Bytes("new"), Options(true));
  before_rename = nullptr;
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(renames, 1);
}

TEST_P(OutputFileTest, AnEmptyNameIsRefused) {
  EXPECT_EQ(OutputFile::Create("", 0, Options()).status().code(), StatusCode::kInvalidArgument);
}

class CommitAllTest : public OutputFileTest {
 protected:
  void Create(const std::vector<std::string>& names, bool replace) {
    for (const std::string& name : names) {
      auto file = OutputFile::Create(dir_.File(name), 3, Options(replace));
      ASSERT_TRUE(file.ok()) << file.status().message();
      ASSERT_TRUE((*file)->WriteAt(0, Bytes("new")).ok());
      files_.push_back(std::move(*file));
    }
  }
  std::vector<std::unique_ptr<OutputFile>> files_;
};
INSTANTIATE_TEST_SUITE_P(Temporaries, CommitAllTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Named" : "Unnamed"; });

TEST_P(CommitAllTest, AllAppear) {
  Create({"1", "2", "3"}, false);
  ASSERT_TRUE(CommitAll(files_).ok());
  EXPECT_EQ(dir_.Entries(), (std::vector<std::string>{"1", "2", "3"}));
}

TEST_P(CommitAllTest, OrNone) {
  Create({"1", "2", "3"}, false);
  WriteFile(dir_.File("2"), "late");
  EXPECT_EQ(CommitAll(files_).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(dir_.Entries().front(),
            GetParam() ? ".1.berth-" + std::to_string(getpid()) + ".tmp" : "2");
  files_.clear();
  EXPECT_EQ(dir_.Entries(), std::vector<std::string>{"2"});
  EXPECT_EQ(ReadFile(dir_.File("2")), "late");
}

TEST_P(CommitAllTest, NoneIfTheFolderCannotBeSynced) {
  Create({"1", "2"}, false);
  folders_fail = true;
  const Status status = CommitAll(files_);
  folders_fail = false;
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(dir_.Entries().empty());
}

TEST_P(CommitAllTest, WhatReplacedAnotherStays) {
  WriteFile(dir_.File("1"), "old");
  WriteFile(dir_.File("3"), "old");
  Create({"1", "2", "3"}, true);
  // A folder in the place of the first: its rename fails when the others have their names.
  unlink(dir_.File("1").c_str());
  ASSERT_EQ(mkdir(dir_.File("1").c_str(), 0755), 0);
  const Status status = CommitAll(files_);
  files_.clear();
  EXPECT_NE(status.message().find("replaced already: " + dir_.File("3")), std::string::npos)
      << status.message();
  EXPECT_EQ(dir_.Entries(), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(ReadFile(dir_.File("3")), "new");
}

TEST_P(CommitAllTest, AllStayWhereOneReplacedAndTheFolderCannotBeSynced) {
  WriteFile(dir_.File("2"), "old");
  Create({"1", "2"}, true);
  folders_fail = true;
  const Status status = CommitAll(files_);
  folders_fail = false;
  files_.clear();
  EXPECT_NE(status.message().find("was replaced"), std::string::npos) << status.message();
  EXPECT_EQ(dir_.Entries(), (std::vector<std::string>{"1", "2"}));
}

TEST(CheckIsNoInput, ByWhateverName) {
  const TempDir dir;
  WriteFile(dir.File("in"), "x");
  ASSERT_EQ(symlink("in", dir.File("link").c_str()), 0);
  ASSERT_EQ(link(dir.File("in").c_str(), dir.File("hard").c_str()), 0);
  WriteFile(dir.File("other"), "x");
  const std::vector<std::string> inputs = {"", dir.File("absent"), dir.File("in")};
  for (const char* name : {"in", "link", "hard", "./in"}) {
    EXPECT_EQ(CheckIsNoInput(dir.File(name), inputs, "an input").code(),
              StatusCode::kInvalidArgument);
  }
  for (const char* name : {"other", "absent", "fresh"}) {
    EXPECT_TRUE(CheckIsNoInput(dir.File(name), inputs, "an input").ok());
  }
}

TEST_P(OutputFileTest, ReadOnlyFolder) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A child of its own user, because root may write anywhere.
    if (chmod(dir_.path().c_str(), 0555) != 0) _exit(2);
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(2);
    const Status status = OutputFile::Create(dir_.File("out"), 0, Options()).status();
    _exit(status.code() == StatusCode::kPermissionDenied ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  chmod(dir_.path().c_str(), 0755);
  if (WIFEXITED(result) && WEXITSTATUS(result) == 2) GTEST_SKIP() << "cannot change the user";
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(dir_.Entries().empty());
}

TEST_P(OutputFileTest, FileSizeLimit) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    // Refused when it is reserved, and when it is written without.
    const bool reserved = OutputFile::Create(dir_.File("a"), 8192, Options()).ok();
    const Status written = WriteWholeFile(dir_.File("b"), Bytes(std::string(8192, 'x')), Options());
    _exit(!reserved && !written.ok() ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(dir_.Entries().empty());
}

TEST_P(OutputFileTest, FullDrive) {
  if (mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "no right to mount a small file system";
  }
  const Status reserved = OutputFile::Create(dir_.File("a"), 1 << 20, Options()).status();
  Status written;
  {
    auto file = OutputFile::Create(dir_.File("b"), 0, Options());
    ASSERT_TRUE(file.ok());
    written = (*file)->WriteAt(0, Bytes(std::string(1 << 20, 'x')));
  }
  const std::vector<std::string> left = dir_.Entries();
  umount(dir_.path().c_str());
  EXPECT_EQ(reserved.code(), StatusCode::kResourceExhausted) << reserved.message();
  EXPECT_EQ(written.code(), StatusCode::kResourceExhausted) << written.message();
  EXPECT_TRUE(left.empty());
}

}  // namespace
}  // namespace berth::io
