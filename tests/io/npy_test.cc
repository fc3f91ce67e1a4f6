#include "io/npy/npy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::io {
namespace {

std::string Header(const std::string& dictionary, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  const size_t length = dictionary.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(length >> (8 * i));
  return text + dictionary;
}

std::string Dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape +
         ", }      \n";
}

// The file reads from it as long as it lives.
class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string text)
      : text_(std::move(text)), memory_("t", std::as_bytes(std::span<const char>(text_))) {}
  const std::string& name() const override { return memory_.name(); }
  uint64_t bytes() const override { return memory_.bytes(); }
  Result<size_t> ReadSome(uint64_t offset, std::span<std::byte> to) const override {
    return memory_.ReadSome(offset, to);
  }

 private:
  const std::string text_;
  const MemorySource memory_;
};

Result<NpyFile> Parse(const std::string& text) {
  return NpyFile::Parse(std::make_unique<StringSource>(text));
}

std::vector<int64_t> Items(const NpyFile& file) {
  std::vector<int64_t> items(file.items());
  const Status status = file.Read(0, items);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return items;
}

TEST(NpyTest, EveryTypeVersionAndOrder) {
  const struct {
    const char* descr;
    std::string data;  // -2 or 254 or ..., then 5
    int64_t first;
  } types[] = {
      {"|i1", std::string("\xfe\5", 2), -2},
      {"|u1", std::string("\xfe\5", 2), 254},
      {"<i1", std::string("\xfe\5", 2), -2},
      {"<i2", std::string("\xfe\xff\5\0", 4), -2},
      {">i2", std::string("\xff\xfe\0\5", 4), -2},
      {"<u2", std::string("\xfe\xff\5\0", 4), 65534},
      {"=i2", std::string("\xfe\xff\5\0", 4), -2},
      {"<i4", std::string("\xfe\xff\xff\xff\5\0\0\0", 8), -2},
      {">u4", std::string("\xff\xff\xff\xfe\0\0\0\5", 8), 4294967294},
      {"<i8", std::string("\xfe\xff\xff\xff\xff\xff\xff\xff\5\0\0\0\0\0\0\0", 16), -2},
      {">i8", std::string("\xff\xff\xff\xff\xff\xff\xff\xfe\0\0\0\0\0\0\0\5", 16), -2},
  };
  for (const auto& type : types) {
    for (const int version : {1, 2, 3}) {
      SCOPED_TRACE(type.descr);
      const std::string order = version == 2 ? "True" : "False";
      auto file = Parse(Header(Dictionary(type.descr, "(1, 2)", order), version) + type.data);
      ASSERT_TRUE(file.ok()) << file.status().ToString();
      EXPECT_EQ(file->shape(), (std::vector<uint64_t>{1, 2}));
      EXPECT_EQ(file->fortran_order(), version == 2);
      EXPECT_EQ(Items(*file), (std::vector<int64_t>{type.first, 5}));
    }
  }
}

TEST(NpyTest, Shapes) {
  const std::string byte(1, '\7');
  EXPECT_EQ(Parse(Header(Dictionary("|u1", "()")) + byte)->items(), 1u);
  EXPECT_EQ(Parse(Header(Dictionary("|u1", "(1,)")) + byte)->items(), 1u);
  EXPECT_EQ(Parse(Header(Dictionary("|u1", "(1L, 1L)")) + byte)->shape().size(), 2u);
  EXPECT_EQ(Parse(Header(Dictionary("|u1", "(0, 7)")))->items(), 0u);
  // Keys in any order, either quote, no comma at the end.
  auto file = Parse(Header("{\"shape\":(1,1,1),\"fortran_order\":True,\"descr\":\"|u1\"}") + byte);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_TRUE(file->fortran_order());
}

TEST(NpyTest, ReadsPieces) {
  std::string data;
  for (int i = 0; i < 200000; ++i) {
    data += static_cast<char>(i);
    data += static_cast<char>(i >> 8);
  }
  auto file = Parse(Header(Dictionary("<u2", "(200000,)")) + data);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  std::vector<int64_t> items(150000);
  ASSERT_TRUE(file->Read(50000, items).ok());
  for (size_t i = 0; i < items.size(); i += 777) {
    EXPECT_EQ(items[i], static_cast<int64_t>((50000 + i) & 0xffff));
  }
  EXPECT_EQ(file->Read(50001, items).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(file->Read(~uint64_t{0}, items).code(), StatusCode::kOutOfRange);
  // What no int64 holds.
  auto huge = Parse(Header(Dictionary("<u8", "(1,)")) + std::string(8, '\xff'));
  EXPECT_EQ(huge->Read(0, std::span(items).first(1)).code(), StatusCode::kOutOfRange);
}

TEST(NpyTest, WhatIsWrong) {
  const auto expect = [](const std::string& text, StatusCode code, const std::string& says) {
    const Status status = Parse(text).status();
    EXPECT_EQ(status.code(), code) << says << ": " << status.ToString();
    EXPECT_NE(status.message().find(says), std::string_view::npos) << status.ToString();
    EXPECT_EQ(status.message().find("t: "), 0u) << status.ToString();
  };
  constexpr StatusCode kWrong = StatusCode::kInvalidArgument;
  const std::string good = Dictionary("|u1", "(1,)");
  expect("", kWrong, "too short");
  expect("PK\3\4aaaaaaaaaaaa", kWrong, "no .npy file");
  expect(Header(good, 4) + "x", StatusCode::kUnimplemented, "version 4.0");
  expect(Header(good), StatusCode::kDataLoss, "cut short");
  expect(Header(good) + "xx", kWrong, "1 bytes after");
  expect(std::string("\x93NUMPY\2\0\xff\xff\xff\x7f", 12), kWrong, "a header of");
  expect(Header(Dictionary("<f4", "(1,)")) + "xxxx", StatusCode::kUnimplemented, "'<f4'");
  expect(Header(Dictionary("|O", "(1,)")) + "xxxx", StatusCode::kUnimplemented, "'|O'");
  expect(Header(Dictionary("|i4", "(1,)")) + "xxxx", kWrong, "byte order");
  expect(Header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}"),
         StatusCode::kUnimplemented, "records");
  expect(Header(Dictionary("|u1", "(4294967296, 4294967296, 2)")), kWrong, "overflows");
  expect(Header(Dictionary("<i8", "(4611686018427387904,)")), kWrong, "overflows");
  for (const std::string dictionary :
       {"", "[]", "{", "{'descr'", "{'descr': '|u1}", "{'descr': '|u1' 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '|u1', 'fortran_order': False}",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x"}) {
    expect(Header(dictionary) + "x", kWrong, "header, byte");
  }
}

}  // namespace
}  // namespace berth::io
