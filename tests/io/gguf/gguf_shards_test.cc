// Which files make one model.
#include "io/gguf/gguf_shards.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/gguf/gguf_writer.h"
#include "tests/io/gguf/test_files.h"

namespace berth::io {
namespace {

using testing::TempDir;
using testing::WriteFile;

struct Shard {
  uint16_t number = 0;
  uint16_t count = 1;
  int32_t tensors = 0;
  std::string architecture;
  std::vector<std::string> names;
};

void Write(const std::string& path, const Shard& shard) {
  GgufLayout layout;
  if (!shard.architecture.empty()) layout.AddString("general.architecture", shard.architecture);
  layout.AddUint16("split.no", shard.number);
  layout.AddUint16("split.count", shard.count);
  layout.AddInt32("split.tensors.count", shard.tensors);
  const uint64_t ne[] = {8};
  for (const std::string& name : shard.names) layout.AddTensor(name, 0, ne, 32);
  ASSERT_TRUE(layout.Finish().ok());
  std::string bytes(reinterpret_cast<const char*>(layout.header().data()), layout.header().size());
  bytes.resize(layout.file_bytes());
  WriteFile(path, bytes);
}

class GgufShardsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write(Path(1), {0, 3, 3, "test", {}});
    Write(Path(2), {1, 3, 3, "", {"a"}});
    Write(Path(3), {2, 3, 3, "test", {"b", "c"}});
  }
  std::string Path(uint32_t number) const { return ShardPath(dir_.File("m"), number, 3); }
  void ExpectError(StatusCode code, const std::string& file, const std::string& part) {
    const Result<GgufShards> shards = ReadGgufShards(Path(1));
    ASSERT_FALSE(shards.ok());
    const std::string message(shards.status().message());
    EXPECT_EQ(shards.status().code(), code) << message;
    EXPECT_TRUE(message.starts_with(file)) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  TempDir dir_;
};

TEST_F(GgufShardsTest, OpensFromAnyShardAndWithoutTheSuffix) {
  for (const std::string& path : {Path(1), Path(2), Path(3), dir_.File("m"), dir_.File("m.gguf")}) {
    const Result<GgufShards> shards = ReadGgufShards(path);
    ASSERT_TRUE(shards.ok()) << shards.status().ToString();
    ASSERT_EQ(shards->files.size(), 3u);
    EXPECT_EQ(shards->files[2].tensors.size(), 2u);
    EXPECT_EQ(shards->files[2].path, Path(3));
    EXPECT_EQ(shards->Find("general.architecture")->AsString(), "test");
  }
}

TEST_F(GgufShardsTest, NamesTheMissingShard) {
  std::filesystem::remove(Path(2));
  ExpectError(StatusCode::kNotFound, Path(2), "shard 2 of 3 is missing");
  std::filesystem::remove(Path(1));
  const Result<GgufShards> shards = ReadGgufShards(dir_.File("m"));
  EXPECT_NE(shards.status().message().find("shard 1 of 3 is missing"), std::string::npos);
}

TEST_F(GgufShardsTest, NamesTheForeignShard) {
  Write(Path(2), {1, 4, 3, "", {"a"}});
  ExpectError(StatusCode::kInvalidArgument, Path(2), "split.count is 4, expected 3");
  Write(Path(2), {2, 3, 3, "", {"a"}});
  ExpectError(StatusCode::kInvalidArgument, Path(2), "split.no is 2, expected 1");
  Write(Path(2), {1, 3, 9, "", {"a"}});
  ExpectError(StatusCode::kInvalidArgument, Path(2), "split.tensors.count is 9, expected 3");
  Write(Path(2), {1, 3, 3, "other", {"a"}});
  ExpectError(StatusCode::kInvalidArgument, Path(2), "general.architecture is 'other'");
  Write(Path(2), {1, 3, 3, "", {"c"}});
  ExpectError(StatusCode::kInvalidArgument, Path(3), "both have tensor c");
  Write(Path(2), {1, 3, 3, "", {"a", "d"}});
  ExpectError(StatusCode::kInvalidArgument, Path(1), "the 3 shards have 4 tensors");
}

TEST_F(GgufShardsTest, NameAndMetadataMustAgree) {
  std::filesystem::rename(Path(2), dir_.File("renamed.gguf"));
  Result<GgufShards> shards = ReadGgufShards(dir_.File("renamed.gguf"));
  EXPECT_NE(shards.status().message().find("says shard 2 of 3, its name says nothing"),
            std::string::npos)
      << shards.status().message();
  std::filesystem::rename(dir_.File("renamed.gguf"), Path(1));
  shards = ReadGgufShards(Path(1));
  EXPECT_NE(shards.status().message().find("its name says shard 1 of 3"), std::string::npos);
}

TEST_F(GgufShardsTest, TwoModelsUnderOneName) {
  Write(ShardPath(dir_.File("m"), 1, 2), {0, 2, 0, "test", {}});
  const Result<GgufShards> shards = ReadGgufShards(dir_.File("m"));
  EXPECT_EQ(shards.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::io
