// The gpu backend on a real card: the conformance suite, skipped where there is none, and what only
// a driver can answer.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "kernels/device.h"
#include "tests/kernels/device_conformance.h"

namespace berth::kernels {
namespace {

constexpr uint64_t kCardBytes = 64 << 20;

DeviceParam Card(std::string name, CopyPath copy_path) {
  DeviceParam param;
  param.name = std::move(name);
  param.options.name = "cuda:0";
  param.options.memory_bytes = kCardBytes;
  param.options.copy_path = copy_path;
  param.sink_holds_stream = false;
  param.may_be_missing = true;
  return param;
}
const auto kCards =
    ::testing::Values(Card("cuda", CopyPath::kEngine), Card("cuda_copy_kernel", CopyPath::kKernel));
INSTANTIATE_TEST_SUITE_P(Gpu, DeviceConformance, kCards, DeviceName);
INSTANTIATE_TEST_SUITE_P(Gpu, DeviceCall, kCards, DeviceName);

class GpuDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    DeviceOptions options;
    options.name = "cuda:0";
    options.memory_bytes = kCardBytes;
    Result<std::unique_ptr<Device>> device = OpenDevice(options);
    if (device.status().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << device.status().ToString();
    }
  }
};

DeviceOptions Named(std::string name, uint64_t memory_bytes) {
  DeviceOptions options;
  options.name = std::move(name);
  options.memory_bytes = memory_bytes;
  return options;
}

TEST_F(GpuDevice, TwoOpeningsGiveTheSameMemory) {
  uint64_t first = 0;
  for (int i = 0; i < 2; ++i) {
    Result<std::unique_ptr<Device>> device = OpenDevice(Named("cuda:0", 0));
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    EXPECT_FALSE((*device)->info().model.empty());
    EXPECT_GT((*device)->free_bytes(), uint64_t{1} << 30);
    if (i == 0) first = (*device)->free_bytes();
    EXPECT_EQ((*device)->free_bytes(), first);
    EXPECT_EQ((*device)->ReserveShortfall(), 0u);
  }
}

TEST_F(GpuDevice, MoreMemoryThanIsFreeIsRefused) {
  const Status status = OpenDevice(Named("cuda:0", uint64_t{1} << 50)).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
  EXPECT_NE(status.message().find("--memory"), std::string_view::npos) << status.ToString();
}

TEST_F(GpuDevice, ACardThatThereIsNotIsNotFound) {
  EXPECT_EQ(OpenDevice(Named("cuda:4000", 0)).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace berth::kernels
