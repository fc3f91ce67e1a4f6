// The weighted sum of a step's partial results.
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/expert/host_expert.h"
#include "kernels/formats/half.h"
#include "tests/kernels/expert_model.h"

namespace berth::kernels {
namespace {

struct Sum {
  static constexpr uint32_t kRows = 3, kTopK = 4, kHidden = 300;

  std::vector<float> partials = testing::RandomValues(1, kRows* kTopK* kHidden);
  std::vector<float> weights = testing::RandomValues(2, kRows* kTopK);
  std::vector<int32_t> ids = {3, 0, 7, 1, 2, kNoExpert, 4, kNoExpert, -1, -1, -1, -1};

  Sum() {
    // What nobody computed must not be read.
    for (size_t pair = 0; pair < ids.size(); ++pair) {
      if (ids[pair] >= 0) continue;
      for (uint32_t i = 0; i < kHidden; ++i) {
        partials[pair * kHidden + i] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
  ReduceCall Call(void* y, DataType type, size_t stride) const {
    ReduceCall call;
    call.rows = kRows;
    call.top_k = kTopK;
    call.hidden = kHidden;
    call.partials = partials.data();
    call.weights = weights.data();
    call.ids = ids.data();
    call.y = y;
    call.y_type = type;
    call.y_stride = stride;
    return call;
  }
  // In the order that the call promises, so equality is exact.
  float Expected(uint32_t row, uint32_t i, bool weighted) const {
    float sum = 0;
    for (uint32_t k = 0; k < kTopK; ++k) {
      const uint32_t pair = row * kTopK + k;
      if (ids[pair] < 0) continue;
      const float product = (weighted ? weights[pair] : 1.0f) * partials[pair * kHidden + i];
      sum += product;
    }
    return sum;
  }
};

TEST(HostReduce, SumsInTheOrderOfK) {
  const Sum sum;
  constexpr size_t kStride = Sum::kHidden + 5;
  std::vector<float> y(Sum::kRows * kStride, 77.0f);
  HostReduce(sum.Call(y.data(), DataType::kF32, kStride));
  for (uint32_t row = 0; row < Sum::kRows; ++row) {
    for (uint32_t i = 0; i < Sum::kHidden; ++i) {
      ASSERT_EQ(y[row * kStride + i], sum.Expected(row, i, true));
    }
    for (uint32_t i = Sum::kHidden; i < kStride; ++i) ASSERT_EQ(y[row * kStride + i], 77.0f);
  }
  EXPECT_EQ(y[2 * kStride], 0.0f);  // a row that routes to nobody
}

TEST(HostReduce, WeightsBeforeCountAsOne) {
  const Sum sum;
  std::vector<float> y(Sum::kRows * Sum::kHidden);
  ReduceCall call = sum.Call(y.data(), DataType::kF32, Sum::kHidden);
  call.weights_before = true;
  HostReduce(call);
  for (uint32_t i = 0; i < Sum::kHidden; ++i) ASSERT_EQ(y[i], sum.Expected(0, i, false));
  EXPECT_NE(y[0], sum.Expected(0, 0, true));
}

TEST(HostReduce, RoundsOnceToHalves) {
  const Sum sum;
  std::vector<uint16_t> y(Sum::kRows * Sum::kHidden);
  HostReduce(sum.Call(y.data(), DataType::kF16, Sum::kHidden));
  for (uint32_t i = 0; i < Sum::kHidden; ++i) ASSERT_EQ(y[i], F32ToF16(sum.Expected(0, i, true)));
  HostReduce(sum.Call(y.data(), DataType::kBF16, Sum::kHidden));
  for (uint32_t i = 0; i < Sum::kHidden; ++i) ASSERT_EQ(y[i], F32ToBf16(sum.Expected(0, i, true)));
}

TEST(HostReduce, TheCallersFloatEnvironmentDoesNotMatterAndComesBack) {
  Sum sum;
  for (float& partial : sum.partials) partial *= 0x1p-126f;
  std::vector<float> expected(Sum::kRows * Sum::kHidden), got(expected.size());
  HostReduce(sum.Call(expected.data(), DataType::kF32, Sum::kHidden));
  constexpr unsigned kOther = 0x1f80 | 0x8000 | 0x0040 | 0x4000;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kOther);
  HostReduce(sum.Call(got.data(), DataType::kF32, Sum::kHidden));
  const unsigned after = _mm_getcsr() & ~0x3fu;
  _mm_setcsr(before);
  EXPECT_EQ(after, kOther);
  EXPECT_NE(expected[0], 0.0f);
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0);
}

TEST(HostReduce, WhatIsNoNumberIsTheOneQuietNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const int32_t ids[] = {0, 1, 0, 1};
  const float weights[] = {0.0f, 1.0f, 1.0f, 1.0f};
  const float partials[] = {kInfinity, 1.0f, kInfinity, -kInfinity};  // 0 * inf, inf - inf
  float y[2] = {};
  ReduceCall call;
  call.rows = 2;
  call.top_k = 2;
  call.hidden = 1;
  call.partials = partials;
  call.weights = weights;
  call.ids = ids;
  call.y = y;
  call.y_stride = 1;
  HostReduce(call);
  for (const float value : y) EXPECT_EQ(std::bit_cast<uint32_t>(value), 0x7fc00000u);
  uint16_t halves[2] = {};
  call.y = halves;
  call.y_type = DataType::kF16;
  HostReduce(call);
  for (const uint16_t half : halves) EXPECT_EQ(half, 0x7e00u);
}

TEST(HostReduce, NothingIsSafe) {
  HostReduce(ReduceCall{});
  ReduceCall none;
  std::vector<float> y(8, 77.0f);
  none.rows = 2;
  none.hidden = 4;
  none.y = y.data();
  none.y_stride = 4;
  HostReduce(none);  // top_k = 0: no partials, no ids, no weights
  for (float value : y) EXPECT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace berth::kernels
