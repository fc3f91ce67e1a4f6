// The gpu backend: one source, made once for each vendor (and once for the emulated card of tests).
#ifndef BERTH_KERNELS_GPU_GPU_DEVICE_H_
#define BERTH_KERNELS_GPU_GPU_DEVICE_H_

#include <memory>

#include "berth/status.h"
#include "kernels/device.h"

namespace berth::kernels {

// options.name is "<backend>:<ordinal>" already. NotFound where there is no driver or no such
// card; nothing of a driver is needed to start a program that never asks.
Result<std::unique_ptr<Device>> OpenCudaDevice(const DeviceOptions& options);
Result<std::unique_ptr<Device>> OpenHipDevice(const DeviceOptions& options);
Result<std::unique_ptr<Device>> OpenEmulatedDevice(const DeviceOptions& options);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_GPU_GPU_DEVICE_H_
