// The bounded parser, on headers made by hand.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "io/gguf/gguf.h"

namespace berth::io {
namespace {

template <typename T>
std::string Raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
std::string Text(const std::string& text) { return Raw<uint64_t>(text.size()) + text; }
std::string Key(const std::string& key, GgufType type, const std::string& value) {
  return Text(key) + Raw(static_cast<uint32_t>(type)) + value;
}
std::string Tensor(const std::string& name, const std::vector<uint64_t>& ne, uint32_t type,
                   uint64_t offset) {
  std::string bytes = Text(name) + Raw<uint32_t>(static_cast<uint32_t>(ne.size()));
  for (uint64_t extent : ne) bytes += Raw(extent);
  return bytes + Raw(type) + Raw(offset);
}
std::string Header(uint32_t version, const std::vector<std::string>& tensors,
                   const std::vector<std::string>& keys) {
  std::string bytes =
      "GGUF" + Raw(version) + Raw<uint64_t>(tensors.size()) + Raw<uint64_t>(keys.size());
  for (const std::string& key : keys) bytes += key;
  for (const std::string& tensor : tensors) bytes += tensor;
  return bytes;
}
// With the data section's padding and `data` bytes of it.
std::string WithData(std::string header, size_t data, size_t alignment = 32) {
  header.resize((header.size() + alignment - 1) / alignment * alignment);
  return header + std::string(data, 'd');
}

Result<GgufFile> ParseBytes(const std::string& bytes) {
  return ParseGguf(MemorySource("m.gguf", std::as_bytes(std::span(bytes))));
}

// What the error says holds `part`, names the file and stands on one line.
void ExpectError(const std::string& bytes, StatusCode code, const std::string& part) {
  const Result<GgufFile> file = ParseBytes(bytes);
  ASSERT_FALSE(file.ok()) << part;
  const std::string message(file.status().message());
  EXPECT_EQ(file.status().code(), code) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_TRUE(message.starts_with("m.gguf: ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

std::string Sample(uint32_t version = 3) {
  const std::string strings = Raw(uint32_t{8}) + Raw<uint64_t>(2) + Text("a") + Text("bc");
  const std::string numbers = Raw(uint32_t{4}) + Raw<uint64_t>(3) + Raw(1u) + Raw(2u) + Raw(3u);
  return WithData(
      Header(version, {Tensor("w", {4, 2}, 0, 0), Tensor("v", {8}, 0, 64)},
             {Key("general.architecture", GgufType::kString, Text("test")),
              Key("general.alignment", GgufType::kUint32, Raw(64u)),
              Key("n.u16", GgufType::kUint16, Raw(uint16_t{7})),
              Key("n.i32", GgufType::kInt32, Raw(-5)),
              Key("flag", GgufType::kBool, std::string(1, '\1')),
              Key("words", GgufType::kArray, strings), Key("figures", GgufType::kArray, numbers)}),
      96, 64);
}

TEST(GgufReader, ReadsBothVersions) {
  for (uint32_t version : {2u, 3u}) {
    const std::string bytes = Sample(version);
    const Result<GgufFile> file = ParseBytes(bytes);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    EXPECT_EQ(file->version, version);
    EXPECT_EQ(file->alignment, 64u);
    EXPECT_EQ(file->data_offset % 64, 0u);
    EXPECT_EQ(file->data_offset + 96, bytes.size());
    EXPECT_EQ(file->Find("general.architecture")->AsString(), "test");
    EXPECT_EQ(file->Find("n.u16")->AsUint(), 7u);
    EXPECT_EQ(file->Find("n.i32")->AsUint(), std::nullopt);  // negative
    EXPECT_EQ(file->Find("figures")->AsUintArray(), (std::vector<uint64_t>{1, 2, 3}));
    EXPECT_EQ(file->Find("words")->element_count, 2u);
    EXPECT_EQ(file->Find("absent"), nullptr);
    ASSERT_EQ(file->tensors.size(), 2u);
    EXPECT_EQ(file->tensors[0].offset, file->data_offset);
    EXPECT_EQ(file->tensors[0].room_bytes, 64u);
    EXPECT_EQ(file->tensors[1].offset, file->data_offset + 64);
    EXPECT_EQ(file->tensors[1].room_bytes, 32u);
    EXPECT_EQ(file->tensors[0].Shape(), "4 x 2");
  }
}

TEST(GgufReader, EntriesCanBeCarriedOver) {
  const std::string bytes = Sample();
  const Result<GgufFile> file = ParseBytes(bytes);
  ASSERT_TRUE(file.ok());
  const GgufKeyValue* words = file->Find("words");
  const std::string entry = bytes.substr(words->entry_offset, words->entry_bytes);
  EXPECT_TRUE(entry.starts_with(Text("words")));
  EXPECT_TRUE(entry.ends_with(Text("bc")));
}

TEST(GgufReader, TruncatedAtEveryByte) {
  const std::string bytes = Sample();
  const Result<GgufFile> whole = ParseBytes(bytes);
  ASSERT_TRUE(whole.ok());
  // The last tensor begins 64 bytes into the data section: up to there nothing is whole.
  for (size_t length = 0; length < whole->data_offset + 64; ++length) {
    const Result<GgufFile> cut = ParseBytes(bytes.substr(0, length));
    ASSERT_FALSE(cut.ok()) << "at byte " << length;
    if (length >= 4) {
      EXPECT_EQ(cut.status().code(), StatusCode::kDataLoss) << length;
    }
    // The same when the file claims to be whole or far larger.
    for (uint64_t claimed : {uint64_t{bytes.size()}, uint64_t{1} << 50}) {
      if (length >= whole->data_offset - 63) continue;  // the header itself is whole
      const MemorySource source("m.gguf", std::as_bytes(std::span(bytes).first(length)), claimed);
      EXPECT_FALSE(ParseGguf(source).ok()) << length << " of " << claimed;
    }
  }
}

TEST(GgufReader, EveryByteMayBeWrong) {
  const std::string bytes = Sample();
  for (size_t at = 0; at < bytes.size() - 96; ++at) {
    for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(value);
      const Result<GgufFile> file = ParseBytes(changed);  // any answer, no crash
      if (!file.ok()) {
        EXPECT_FALSE(file.status().message().empty());
      }
    }
  }
}

TEST(GgufReader, RefusesWhatIsNoGguf) {
  ExpectError("", StatusCode::kInvalidArgument, "not a GGUF file");
  ExpectError("PK\3\4 and more", StatusCode::kInvalidArgument, "begins with 'PK\\003\\004'");
  ExpectError("GGUF" + Raw(1u) + std::string(64, '\0'), StatusCode::kUnimplemented, "version 1");
  ExpectError("GGUF" + Raw(4u) + std::string(64, '\0'), StatusCode::kUnimplemented, "version 4");
  ExpectError("GGUF" + Raw(__builtin_bswap32(3)) + std::string(64, '\0'),
              StatusCode::kUnimplemented, "big-endian");
}

TEST(GgufReader, RefusesCountsAndLengthsBeyondTheFile) {
  ExpectError("GGUF" + Raw(3u) + Raw(UINT64_MAX) + Raw<uint64_t>(0) + std::string(99, '\0'),
              StatusCode::kInvalidArgument, "tensor count");
  ExpectError("GGUF" + Raw(3u) + Raw<uint64_t>(0) + Raw<uint64_t>(1000) + std::string(99, '\0'),
              StatusCode::kDataLoss, "metadata count 1000");
  ExpectError(WithData(Header(3, {}, {Raw(UINT64_MAX - 3) + "key"}), 64), StatusCode::kDataLoss,
              "a metadata key");
  ExpectError(WithData(Header(3, {}, {Key("s", GgufType::kString, Raw(UINT64_MAX))}), 64),
              StatusCode::kDataLoss, "a metadata string");
  for (uint32_t element : {8u, 10u, 0u}) {
    const std::string array = Raw(element) + Raw(UINT64_MAX / 2);
    ExpectError(WithData(Header(3, {}, {Key("a", GgufType::kArray, array)}), 64),
                StatusCode::kDataLoss, "elements");
  }
}

TEST(GgufReader, RefusesNestedArraysAndUnknownTypes) {
  const std::string nested = Raw(uint32_t{9}) + Raw<uint64_t>(1);
  ExpectError(WithData(Header(3, {}, {Key("a", GgufType::kArray, nested)}), 64),
              StatusCode::kUnimplemented, "array of arrays");
  ExpectError(WithData(Header(3, {}, {Key("a", static_cast<GgufType>(13), "")}), 64),
              StatusCode::kInvalidArgument, "type 13");
  ExpectError(WithData(Header(3, {}, {Key("a", GgufType::kBool, "\2")}), 64),
              StatusCode::kInvalidArgument, "bool of value 2");
}

TEST(GgufReader, RefusesDuplicates) {
  const std::string key = Key("k", GgufType::kUint8, "x");
  ExpectError(WithData(Header(3, {}, {key, key}), 64), StatusCode::kInvalidArgument,
              "'k' stands twice");
  const std::string tensor = Tensor("t", {8}, 0, 0);
  ExpectError(WithData(Header(3, {tensor, tensor}, {}), 64), StatusCode::kInvalidArgument,
              "'t' stands twice");
}

TEST(GgufReader, RefusesWrongAlignments) {
  for (uint32_t alignment : {0u, 3u, 48u}) {
    ExpectError(
        WithData(Header(3, {}, {Key("general.alignment", GgufType::kUint32, Raw(alignment))}), 64),
        StatusCode::kInvalidArgument, "power of two");
  }
  ExpectError(
      WithData(Header(3, {}, {Key("general.alignment", GgufType::kUint64, Raw<uint64_t>(32))}), 64),
      StatusCode::kInvalidArgument, "expected u32");
  ExpectError(WithData(Header(3, {Tensor("t", {8}, 0, 16)}, {}), 64), StatusCode::kInvalidArgument,
              "expected a multiple of 32");
}

TEST(GgufReader, RefusesTensorsThatCannotBe) {
  ExpectError(WithData(Header(3, {Tensor("t", {}, 0, 0)}, {}), 64), StatusCode::kInvalidArgument,
              "0 dimensions");
  ExpectError(WithData(Header(3, {Tensor("t", {1, 1, 1, 1, 1}, 0, 0)}, {}), 64),
              StatusCode::kInvalidArgument, "5 dimensions");
  ExpectError(WithData(Header(3, {Tensor("t", {UINT64_MAX, 2}, 0, 0)}, {}), 64),
              StatusCode::kInvalidArgument, "2^63");
  ExpectError(WithData(Header(3, {Tensor("t", {8}, 0, 1 << 20)}, {}), 64), StatusCode::kDataLoss,
              "tensor 't' begins at 1048576");
  ExpectError(WithData(Header(3, {Tensor("t", {8}, 0, UINT64_MAX - 31)}, {}), 64),
              StatusCode::kDataLoss, "tensor 't'");
}

TEST(GgufReader, NamesInMessagesAreOneLine) {
  const std::string key = Key("a\nb\x1b", GgufType::kUint8, "x");
  ExpectError(WithData(Header(3, {}, {key, key}), 64), StatusCode::kInvalidArgument,
              "'a\\nb\\033'");
}

TEST(GgufReader, FilesThatAreNoFiles) {
  EXPECT_EQ(ReadGguf("/nonexistent.gguf").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadGguf("/").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadGguf("/dev/null").status().code(), StatusCode::kInvalidArgument);
}

TEST(GgufReader, FirstShardWithoutTensors) {
  const auto file = ReadGguf(std::string(BERTH_TEST_DATA) + "/tiny-qwen-like-00001-of-00003.gguf");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_TRUE(file->tensors.empty());
  EXPECT_EQ(file->Find("split.tensors.count")->AsUint(), 35u);
}

}  // namespace
}  // namespace berth::io
