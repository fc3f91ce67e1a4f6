// The host backend: a card played by the machine's own processors and memory.
#ifndef BERTH_KERNELS_HOST_HOST_DEVICE_H_
#define BERTH_KERNELS_HOST_HOST_DEVICE_H_

#include <memory>

#include "berth/status.h"
#include "kernels/device.h"

namespace berth::kernels {

// options.name is "host:<ordinal>" already. A link rate that is neither 0 nor at least 1 kB/s is
// an InvalidArgument.
Result<std::unique_ptr<Device>> OpenHostDevice(const DeviceOptions& options);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_HOST_HOST_DEVICE_H_
