// The HIP flavour of the gpu backend on an NVIDIA card: the conformance suite, skipped where there
// is no card.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "kernels/gpu/gpu_device.h"
#include "tests/kernels/device_conformance.h"

namespace berth::kernels {
namespace {

DeviceParam Card(std::string name, CopyPath copy_path) {
  DeviceParam param;
  param.name = std::move(name);
  param.options.name = "hip:0";
  param.options.memory_bytes = 64 << 20;
  param.options.copy_path = copy_path;
  param.open = OpenHipDevice;
  param.sink_holds_stream = false;
  param.may_be_missing = true;
  return param;
}
const auto kCards = ::testing::Values(Card("hip_on_cuda", CopyPath::kEngine),
                                      Card("hip_on_cuda_copy_kernel", CopyPath::kKernel));
INSTANTIATE_TEST_SUITE_P(HipOnCuda, DeviceConformance, kCards, DeviceName);
INSTANTIATE_TEST_SUITE_P(HipOnCuda, DeviceCall, kCards, DeviceName);

}  // namespace
}  // namespace berth::kernels
