// Every format against values that the formats' reference implementation wrote, bit for bit, and
// generated blocks against what they promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/kernels/safetensors_fixture.h"

namespace berth::kernels {

// What GoogleTest prints of a parameter.
void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

namespace {

std::vector<float> Decode(const Format& format, const std::byte* blocks, size_t bytes) {
  const size_t count = bytes / format.block_bytes;
  std::vector<float> values(count * format.block_elements + 1,
                            std::numeric_limits<float>::quiet_NaN());
  format.decode(blocks, count, values.data());
  EXPECT_TRUE(std::isnan(values.back())) << format.name << " wrote past its end";
  values.pop_back();
  return values;
}

// Weights whose bits differ.
size_t Differences(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  size_t count = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    count += std::memcmp(&a[i], &b[i], sizeof(float)) != 0 ? 1 : 0;
  }
  return count;
}

class EveryFormat : public ::testing::TestWithParam<Format> {};

TEST_P(EveryFormat, DecodesTheGoldenBlocksExactly) {
  const Format& format = GetParam();
  const testing::SafetensorsFixture golden(BERTH_TEST_DATA "/golden-blocks.safetensors");
  const std::string name(format.name);
  const auto blocks = golden.Get<std::byte>(name + ".blocks");
  const auto expected = golden.Get<float>(name + ".values");
  ASSERT_EQ(blocks.size() % format.block_bytes, 0u);
  ASSERT_EQ(blocks.size() / format.block_bytes * format.block_elements, expected.size());
  EXPECT_EQ(Differences(Decode(format, blocks.data(), blocks.size()), expected), 0u);
}

// The comparison above can fail: one flipped bit anywhere in a block shows, and in that block only.
TEST_P(EveryFormat, AFlippedBitShows) {
  const Format& format = GetParam();
  const testing::SafetensorsFixture golden(BERTH_TEST_DATA "/golden-blocks.safetensors");
  const std::string name(format.name);
  auto blocks = golden.Get<std::byte>(name + ".blocks");
  const auto expected = golden.Get<float>(name + ".values");
  size_t seen = 0;
  for (size_t byte = 0; byte < format.block_bytes; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      blocks[byte] ^= static_cast<std::byte>(1 << bit);
      const auto values = Decode(format, blocks.data(), blocks.size());
      blocks[byte] ^= static_cast<std::byte>(1 << bit);
      size_t first = 0;
      while (first < values.size() &&
             std::memcmp(&values[first], &expected[first], sizeof(float)) == 0) {
        ++first;
      }
      EXPECT_TRUE(first < format.block_elements || first == values.size());
      seen += first < format.block_elements ? 1 : 0;
    }
  }
  // Some bits may decode to the same: redundant ternary codes, minima under a zero scale, the
  // ignored top bit of an NVFP4 scale.
  EXPECT_GE(seen, format.block_bytes * 8 * 3 / 4) << "of " << format.block_bytes * 8;
}

TEST_P(EveryFormat, DecodesFromAnyAddress) {
  const Format& format = GetParam();
  const testing::SafetensorsFixture golden(BERTH_TEST_DATA "/golden-blocks.safetensors");
  const std::string name(format.name);
  const auto blocks = golden.Get<std::byte>(name + ".blocks");
  const auto expected = golden.Get<float>(name + ".values");
  std::vector<std::byte> shifted(blocks.size() + 1);
  std::copy(blocks.begin(), blocks.end(), shifted.begin() + 1);
  EXPECT_EQ(Differences(Decode(format, shifted.data() + 1, blocks.size()), expected), 0u);
}

TEST_P(EveryFormat, GeneratesUsefulWeights) {
  const Format& format = GetParam();
  const size_t blocks = 65536 / format.block_elements;
  std::vector<std::byte> bytes(blocks * format.block_bytes);
  format.generate(7, 0, blocks, bytes.data());
  const auto values = Decode(format, bytes.data(), bytes.size());
  double sum = 0;
  double squares = 0;
  size_t zeros = 0;
  for (float value : values) {
    ASSERT_TRUE(std::isfinite(value));
    ASSERT_LT(std::abs(value), 0.5f);
    sum += value;
    squares += static_cast<double>(value) * value;
    zeros += value == 0 ? 1 : 0;
  }
  const double count = static_cast<double>(values.size());
  const double rms = std::sqrt(squares / count);
  EXPECT_GT(rms, 0.03);
  EXPECT_LT(rms, 0.06);
  EXPECT_LT(std::abs(sum / count), 0.1 * rms);
  EXPECT_LT(zeros, values.size() * 6 / 10);
  // MXFP4 has the fewest: 15 levels under two scales, partly the same.
  EXPECT_GT(std::set<float>(values.begin(), values.end()).size(), 15u);
}

TEST_P(EveryFormat, GeneratesByIndexAlone) {
  const Format& format = GetParam();
  constexpr size_t kBlocks = 61;
  const size_t bytes = format.block_bytes;
  std::vector<std::byte> whole(kBlocks * bytes);
  format.generate(42, 1000, kBlocks, whole.data());
  // In pieces, in any order, with nothing written beyond each.
  std::vector<std::byte> pieces(kBlocks * bytes, std::byte{0});
  for (size_t begin : {37, 0, 58, 5, 30}) {
    const std::map<size_t, size_t> end = {{37, 58}, {0, 5}, {58, 61}, {5, 30}, {30, 37}};
    const size_t count = end.at(begin) - begin;
    std::vector<std::byte> piece(count * bytes + 1, std::byte{0xa5});
    format.generate(42, 1000 + begin, count, piece.data());
    ASSERT_EQ(piece.back(), std::byte{0xa5});
    std::copy(piece.begin(), piece.end() - 1, pieces.begin() + begin * bytes);
  }
  EXPECT_EQ(whole, pieces);
  std::vector<std::byte> other(whole.size());
  format.generate(43, 1000, kBlocks, other.data());
  EXPECT_NE(whole, other);
  format.generate(42, 1001, kBlocks, other.data());
  EXPECT_NE(whole, other);
  EXPECT_EQ(0, std::memcmp(whole.data() + bytes, other.data(), (kBlocks - 1) * bytes));
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat,
                         ::testing::ValuesIn(Formats().begin(), Formats().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Formats, AreTheOnesOfTheFixtureInTheOrderOfTheirIds) {
  const testing::SafetensorsFixture golden(BERTH_TEST_DATA "/golden-blocks.safetensors");
  EXPECT_EQ(Formats().size(), 27u);
  uint32_t last = 0;
  for (const Format& format : Formats()) {
    EXPECT_GT(static_cast<uint32_t>(format.type), last);
    last = static_cast<uint32_t>(format.type);
    EXPECT_TRUE(golden.Has(std::string(format.name) + ".blocks"));
    EXPECT_EQ(FindFormat(format.type), &format);
  }
}

TEST(Formats, AreFoundByNameInAnyCase) {
  for (std::string_view name : {"iq3_s", "IQ3_S", "Iq3_s"}) {
    const auto format = FindFormat(name);
    ASSERT_TRUE(format.ok()) << format.status().ToString();
    EXPECT_EQ((*format)->type, TensorType::kIQ3_S);
  }
  EXPECT_EQ((*FindFormat("q4_k"))->type, TensorType::kQ4_K);
}

TEST(Formats, RefuseWhatIsUnknownWithTheNearestName) {
  EXPECT_EQ(FindFormat(TensorType::kF32), nullptr);
  EXPECT_EQ(FindFormat(static_cast<TensorType>(4)), nullptr);
  const auto format = FindFormat("iq3_z");
  ASSERT_FALSE(format.ok());
  EXPECT_EQ(format.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(format.status().message().find("iq3_z"), std::string::npos);
  EXPECT_NE(format.status().message().find("iq3_s"), std::string::npos);
}

TEST(Formats, SizeRows) {
  const Format& q4_k = *FindFormat(TensorType::kQ4_K);
  EXPECT_EQ(*RowBytes(q4_k, 2560), 1440u);
  EXPECT_EQ(*RowBytes(q4_k, 0), 0u);
  EXPECT_EQ(RowBytes(q4_k, 2561).status().code(), StatusCode::kInvalidArgument);
  const Format& f16 = *FindFormat(TensorType::kF16);
  EXPECT_EQ(RowBytes(f16, uint64_t{1} << 63).status().code(), StatusCode::kInvalidArgument);
  // Units of the reference shape: hidden 2560, FFN 640.
  const auto unit = [](TensorType up, TensorType down) {
    return 2 * 640 * *RowBytes(*FindFormat(up), 2560) + 2560 * *RowBytes(*FindFormat(down), 640);
  };
  EXPECT_EQ(unit(TensorType::kIQ3_S, TensorType::kIQ4_NL), 2329600u);
  EXPECT_EQ(unit(TensorType::kIQ3_XXS, TensorType::kIQ4_NL), 2176000u);
  EXPECT_EQ(unit(TensorType::kIQ2_S, TensorType::kQ2_0), 1510400u);
}

}  // namespace
}  // namespace berth::kernels
