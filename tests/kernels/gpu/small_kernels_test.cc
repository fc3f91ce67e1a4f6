// The kernels beside the grouped call, on the emulated card: weighted sums and the audit of slots.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "kernels/expert/host_expert.h"
#include "kernels/gpu/expert_launch.h"
#include "tests/kernels/expert_model.h"

namespace berth::kernels::gpu {
namespace {

constexpr uint32_t kRows = 5, kTopK = 3, kHidden = 70, kStride = 75;

class Reduce : public ::testing::TestWithParam<DataType> {};

TEST_P(Reduce, GivesTheHostsBits) {
  std::vector<float> partials = kernels::testing::RandomValues(1, kRows * kTopK * kHidden);
  // Results that halves round to denormals, to infinity and not at all.
  for (uint32_t i = 0; i < kHidden; ++i) partials[i] *= 1e-5f;
  partials[kTopK * kHidden] = 3e5f;
  partials[kTopK * kHidden + 1] = std::numeric_limits<float>::quiet_NaN();
  partials[kTopK * kHidden + 2] = -std::numeric_limits<float>::infinity();
  const std::vector<float> weights = kernels::testing::RandomValues(2, kRows * kTopK);
  const std::vector<int32_t> ids = {0, 1, 2, 3, 4, -1, -1, -1, -1, 5, -1, 6, 7, 8, 9};
  for (const bool weights_before : {false, true}) {
    std::vector<float> want(kRows * kStride, -1.0f), got = want;
    ReduceCall call;
    call.rows = kRows;
    call.top_k = kTopK;
    call.hidden = kHidden;
    call.partials = partials.data();
    call.weights = weights.data();
    call.ids = ids.data();
    call.weights_before = weights_before;
    call.y_stride = kStride;
    call.y_type = GetParam();
    call.y = want.data();
    HostReduce(call);
    call.y = got.data();
    EXPECT_TRUE(LaunchReduce(call, nullptr).ok());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0);
    EXPECT_NE(want[0], -1.0f);
  }
}
INSTANTIATE_TEST_SUITE_P(SmallKernels, Reduce,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16));

TEST(SmallKernels, TheAuditCountsBytesThatDiffer) {
  std::vector<std::byte> slot(1001, std::byte{7});
  const std::vector<std::byte> expected = slot;
  uint64_t differ = 5;
  EXPECT_TRUE(LaunchAudit(slot.data(), expected.data(), slot.size(), &differ, nullptr).ok());
  EXPECT_EQ(differ, 5u);
  slot[0] ^= std::byte{1};
  slot[1000] ^= std::byte{0x80};
  EXPECT_TRUE(LaunchAudit(slot.data(), expected.data(), slot.size(), &differ, nullptr).ok());
  EXPECT_EQ(differ, 7u);
}

}  // namespace
}  // namespace berth::kernels::gpu
