#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "io/file/byte_source.h"
#include "io/file/read_text.h"
#include "tests/temporary_directory.h"

namespace berth::io {
namespace {

using testing::TemporaryDirectory;

TEST(ByteSourceTest, ReadsWhatTheFileHolds) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "0123456789";
  auto source = FileSource::Open(directory / "a");
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ((*source)->bytes(), 10u);
  std::array<std::byte, 4> piece;
  ASSERT_TRUE((*source)->ReadAt(6, piece).ok());
  EXPECT_EQ(static_cast<char>(piece[0]), '6');
  EXPECT_EQ((*source)->ReadAt(7, piece).code(), StatusCode::kDataLoss);
}

TEST(ByteSourceTest, AFileThatShrinksIsADataLoss) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "0123456789";
  auto source = FileSource::Open(directory / "a");
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(::truncate((directory / "a").c_str(), 3), 0);
  std::array<std::byte, 4> piece;
  EXPECT_EQ((*source)->ReadAt(2, piece).code(), StatusCode::kDataLoss);
}

TEST(ByteSourceTest, RefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ(FileSource::Open(directory / "absent").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FileSource::Open(directory.path().string()).status().code(),
            StatusCode::kInvalidArgument);
  // Opening a pipe that nobody writes to must not wait.
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(FileSource::Open(directory / "pipe").status().code(), StatusCode::kInvalidArgument);
}

TEST(ReadTextTest, HasALimit) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "0123456789";
  EXPECT_EQ(ReadText(directory / "a", 9).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*ReadText(directory / "a", 10), "0123456789");
}

}  // namespace
}  // namespace berth::io
