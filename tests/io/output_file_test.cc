// A file that appears whole or not at all.
#include "io/file/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/io/gguf/test_files.h"

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
