#include "io/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "io/safetensors/writer.h"
#include "tests/temporary_directory.h"

namespace berth::io {
namespace {

using testing::TemporaryDirectory;

// Header and data as the format has them.
std::string FileText(const std::string& header, const std::string& data) {
  std::string text(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(text.data(), &length, 8);
  return text + header + data;
}

Result<SafetensorsFile> ParseText(const std::string& text) {
  return SafetensorsFile::Parse(
      std::make_unique<MemorySource>("t", std::as_bytes(std::span<const char>(text))));
}

TEST(SafetensorsTest, ReadsTensorsAndMetadata) {
  const std::string text = FileText(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"U16","shape":[2,2],"data_offsets":[0,8]},)"
      R"("s":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
      R"("e":{"dtype":"I64","shape":[0,7],"data_offsets":[12,12]}})",
      "abcdefgh1234");
  auto file = ParseText(text);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->metadata().at("k"), "v");
  ASSERT_EQ(file->tensors().size(), 3u);
  const SafetensorsTensor* a = file->Find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->type, SafetensorsType::kU16);
  EXPECT_EQ(a->shape, (std::vector<uint64_t>{2, 2}));
  std::array<std::byte, 3> piece;
  ASSERT_TRUE(file->Read(*a, 5, piece).ok());
  EXPECT_EQ(static_cast<char>(piece[2]), 'h');
  EXPECT_EQ(file->Read(*a, 6, piece).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(file->Find("s")->bytes, 4u);
  EXPECT_EQ(file->Find("e")->bytes, 0u);
  EXPECT_EQ(file->Find("b"), nullptr);
}

struct BadCase {
  const char* name;
  std::string text;
  StatusCode code;
  const char* says;
};

class BadSafetensorsTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadSafetensorsTest, IsRefusedInOneLine) {
  const auto file = ParseText(GetParam().text);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), GetParam().code) << file.status().ToString();
  EXPECT_NE(file.status().message().find(GetParam().says), std::string_view::npos)
      << file.status().ToString();
  EXPECT_EQ(file.status().message().find('\n'), std::string_view::npos);
}

std::string One(const std::string& tensor) {
  return FileText("{\"a\":" + tensor + "}", "12345678");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSafetensorsTest,
    ::testing::Values(
        BadCase{"Empty", "", StatusCode::kInvalidArgument, "not a safetensors file"},
        BadCase{"Short", "1234567", StatusCode::kInvalidArgument, "7 bytes"},
        BadCase{"HugeHeader", std::string(16, '\xff'), StatusCode::kInvalidArgument, "a header of"},
        BadCase{"HeaderBeyondEnd", std::string("\x40\0\0\0\0\0\0\0{}", 10), StatusCode::kDataLoss,
                "truncated"},
        BadCase{"NotJson", FileText("{\"a\":", ""), StatusCode::kInvalidArgument, "not JSON"},
        BadCase{"NotObject", FileText("[1]", ""), StatusCode::kInvalidArgument,
                "not a JSON object"},
        BadCase{"DeepJson", FileText("{\"a\":" + std::string(100000, '['), ""),
                StatusCode::kInvalidArgument, "a list"},
        BadCase{"Twice",
                FileText(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                         "1"),
                StatusCode::kInvalidArgument, "twice"},
        BadCase{"UnknownType", One(R"({"dtype":"Q4","shape":[8],"data_offsets":[0,8]})"),
                StatusCode::kUnimplemented, "'Q4'"},
        BadCase{"UnknownField", One(R"({"dtype":"U8","shape":[8],"data_offsets":[0,8],"x":"y"})"),
                StatusCode::kInvalidArgument, "unknown field 'x'"},
        BadCase{"MissingField", One(R"({"dtype":"U8","shape":[8]})"), StatusCode::kInvalidArgument,
                "lacks"},
        BadCase{"SizeDiffers", One(R"({"dtype":"U16","shape":[8],"data_offsets":[0,8]})"),
                StatusCode::kInvalidArgument, "needs 16 bytes"},
        BadCase{"Negative", One(R"({"dtype":"U8","shape":[-8],"data_offsets":[0,8]})"),
                StatusCode::kInvalidArgument, "negative"},
        BadCase{"Fraction", One(R"({"dtype":"U8","shape":[8.5],"data_offsets":[0,8]})"),
                StatusCode::kInvalidArgument, "not whole"},
        BadCase{"Backwards", One(R"({"dtype":"U8","shape":[8],"data_offsets":[8,0]})"),
                StatusCode::kInvalidArgument, "ends before"},
        BadCase{"Overflow",
                One(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,8]})"),
                StatusCode::kInvalidArgument, "overflows"},
        BadCase{"OverflowBehindZero",
                One(R"({"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]})"),
                StatusCode::kInvalidArgument, "overflows"},
        BadCase{"BeyondEnd", One(R"({"dtype":"U8","shape":[9],"data_offsets":[0,9]})"),
                StatusCode::kDataLoss, "truncated"},
        BadCase{"OffsetOverflow",
                One(R"({"dtype":"U8","shape":[1],)"
                    R"("data_offsets":[18446744073709551614,18446744073709551615]})"),
                StatusCode::kDataLoss, "beyond"},
        BadCase{"MetadataNumber", FileText(R"({"__metadata__":{"k":1}})", ""),
                StatusCode::kInvalidArgument, "must be a string"}),
    [](const auto& info) { return info.param.name; });

TEST(SafetensorsTest, EveryTruncationIsRefused) {
  const std::string whole = One(R"({"dtype":"U8","shape":[8],"data_offsets":[0,8]})");
  ASSERT_TRUE(ParseText(whole).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseText(whole.substr(0, length)).ok()) << length;
  }
}

TEST(SafetensorsTest, WriterAndReaderAgree) {
  const TemporaryDirectory directory;
  const std::string path = directory / "x.safetensors";
  const std::vector<SafetensorsDeclaration> tensors = {{"first", SafetensorsType::kI32, {2}},
                                                       {"second", SafetensorsType::kU8, {3, 1}}};
  {
    auto writer = SafetensorsWriter::Create(path, tensors, {{"who", "\xff quote \" back \\"}});
    ASSERT_TRUE(writer.ok()) << writer.status().ToString();
    EXPECT_EQ((*writer)->Commit().code(), StatusCode::kFailedPrecondition);
    const std::string bytes = "AAAABBBBxyz";
    ASSERT_TRUE((*writer)->Append(std::as_bytes(std::span<const char>(bytes))).ok());
    EXPECT_FALSE((*writer)->Append(std::as_bytes(std::span<const char>(bytes))).ok());
    ASSERT_TRUE((*writer)->Commit().ok());
  }
  auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->metadata().count("who"), 1u);
  const SafetensorsTensor* second = file->Find("second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(file->Find("first")->offset % 8, 0u);
  std::array<std::byte, 3> piece;
  ASSERT_TRUE(file->Read(*second, 0, piece).ok());
  EXPECT_EQ(std::memcmp(piece.data(), "xyz", 3), 0);
}

TEST(SafetensorsTest, TensorsAreWrittenAtTheirPlaces) {
  const TemporaryDirectory directory;
  const std::string path = directory / "x.safetensors";
  const std::vector<SafetensorsDeclaration> tensors = {{"first", SafetensorsType::kU8, {4}},
                                                       {"second", SafetensorsType::kU8, {3}}};
  auto writer = SafetensorsWriter::Create(path, tensors, {}, {.replace = false});
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  const auto put = [&](size_t tensor, uint64_t offset, const std::string& bytes) {
    return (*writer)->WriteAt(tensor, offset, std::as_bytes(std::span<const char>(bytes)));
  };
  ASSERT_TRUE(put(1, 1, "yz").ok());
  ASSERT_TRUE(put(0, 0, "ABC").ok());
  EXPECT_EQ(put(2, 0, "x").code(), StatusCode::kOutOfRange);
  EXPECT_EQ(put(0, 3, "DE").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(put(0, ~uint64_t{0}, "DE").code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(put(1, 0, "x").ok());
  EXPECT_EQ((*writer)->Commit().code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(put(0, 3, "D").ok());
  ASSERT_TRUE((*writer)->Commit().ok());
  auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  std::array<std::byte, 4> first;
  std::array<std::byte, 3> second;
  ASSERT_TRUE(file->Read(*file->Find("first"), 0, first).ok());
  ASSERT_TRUE(file->Read(*file->Find("second"), 0, second).ok());
  EXPECT_EQ(std::memcmp(first.data(), "ABCD", 4), 0);
  EXPECT_EQ(std::memcmp(second.data(), "xyz", 3), 0);
  EXPECT_EQ(SafetensorsWriter::Create(path, tensors, {}, {.replace = false}).status().code(),
            StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace berth::io
