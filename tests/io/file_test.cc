#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "io/file/atomic_file.h"
#include "io/file/byte_source.h"
#include "tests/temporary_directory.h"

namespace berth::io {
namespace {

using testing::TemporaryDirectory;

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

size_t CountFiles(const TemporaryDirectory& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    ++count;
  }
  return count;
}

TEST(ByteSourceTest, ReadsWhatTheFileHolds) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "0123456789";
  auto source = OpenFile(directory / "a");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ((*source)->size(), 10u);
  std::array<std::byte, 4> piece;
  ASSERT_TRUE((*source)->ReadAt(6, piece).ok());
  EXPECT_EQ(static_cast<char>(piece[0]), '6');
  EXPECT_EQ((*source)->ReadAt(7, piece).code(), StatusCode::kDataLoss);
  EXPECT_EQ((*source)->ReadAt(UINT64_MAX, piece).code(), StatusCode::kDataLoss);
  EXPECT_EQ(ReadText(**source, 9).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*ReadText(**source, 10), "0123456789");
}

TEST(ByteSourceTest, AFileThatShrinksIsADataLoss) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "0123456789";
  auto source = OpenFile(directory / "a");
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(::truncate((directory / "a").c_str(), 3), 0);
  std::array<std::byte, 4> piece;
  EXPECT_EQ((*source)->ReadAt(2, piece).code(), StatusCode::kDataLoss);
}

TEST(ByteSourceTest, RefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(OpenFile(directory / "absent").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(OpenFile(directory.path().string()).status().code(), StatusCode::kInvalidArgument);
  // Opening a pipe that nobody writes to must not wait.
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(OpenFile(directory / "pipe").status().code(), StatusCode::kInvalidArgument);
}

TEST(AtomicFileTest, AppearsAtCommit) {
  const TemporaryDirectory directory;
  const std::string path = directory / "out";
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append(Bytes(std::string(3 << 20, 'x'))).ok());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE((*file)->Commit().ok());
  }
  EXPECT_EQ(std::filesystem::file_size(path), 3u << 20);
  EXPECT_EQ(CountFiles(directory), 1u);
}

TEST(AtomicFileTest, LeavesNothingWithoutCommit) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "out") << "old";
  {
    auto file = AtomicFile::Create(directory / "out");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append(Bytes("new")).ok());
  }
  EXPECT_EQ(CountFiles(directory), 1u);
  EXPECT_EQ(std::filesystem::file_size(directory / "out"), 3u);
}

TEST(AtomicFileTest, SaysWhyItCannotWrite) {
  const TemporaryDirectory directory;
  EXPECT_EQ(AtomicFile::Create(directory / "no/such/out").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(AtomicFile::Create(directory.path().string()).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(AtomicFile::Create("").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::io
