// F16 and BF16 conversions: every half, and floats around every rounding boundary, against
// arithmetic in double.
#include "kernels/formats/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace berth::kernels {
namespace {

double ValueOf(int half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryFiniteF16IsExact) {
  for (int half = 0; half < 0x10000; ++half) {
    if (((half >> 10) & 31) == 31) continue;
    const float value = F16ToF32(static_cast<uint16_t>(half));
    ASSERT_EQ(static_cast<double>(value), ValueOf(half));
    ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0);
    ASSERT_EQ(F32ToF16(value), half);
  }
}

TEST(Half, InfinitiesAndNansStayWhatTheyAre) {
  EXPECT_EQ(F16ToF32(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(F16ToF32(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(F16ToF32(0x7e01)));
  EXPECT_EQ(F32ToF16(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(F32ToF16(-1e9f), 0xfc00);
  EXPECT_TRUE(std::isnan(F16ToF32(F32ToF16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(F32ToBf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(F32ToBf16(std::numeric_limits<float>::max()), 0x7f80);
}

// Between two neighbours: below the middle goes down, above it up, the middle to the even one.
TEST(Half, F16RoundsHalfToEven) {
  for (int half = 0; half < 0x7bff; ++half) {
    const auto middle = static_cast<float>((ValueOf(half) + ValueOf(half + 1)) / 2);
    const int even = half + (half & 1);
    ASSERT_EQ(F32ToF16(middle), even);
    ASSERT_EQ(F32ToF16(std::nextafter(middle, 0.0f)), half);
    ASSERT_EQ(F32ToF16(std::nextafter(middle, 1e9f)), half + 1);
    ASSERT_EQ(F32ToF16(-middle), even | 0x8000);
  }
  EXPECT_EQ(F32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(F32ToF16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
}

TEST(Half, Bf16RoundsHalfToEven) {
  for (uint32_t upper = 0; upper < 0x7f7f; ++upper) {
    const auto middle = std::bit_cast<float>(upper << 16 | 0x8000u);
    ASSERT_EQ(F32ToBf16(middle), upper + (upper & 1));
    ASSERT_EQ(F32ToBf16(std::bit_cast<float>(upper << 16 | 0x7fffu)), upper);
    ASSERT_EQ(F32ToBf16(std::bit_cast<float>(upper << 16 | 0x8001u)), upper + 1);
    ASSERT_EQ(Bf16ToF32(static_cast<uint16_t>(upper)), std::bit_cast<float>(upper << 16));
  }
}

}  // namespace
}  // namespace berth::kernels
