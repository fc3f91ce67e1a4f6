// The backends of this build, by name.
#include "kernels/device.h"

#include "kernels/card_name.h"
#include "kernels/gpu/gpu_device.h"
#include "kernels/host/host_device.h"

namespace berth::kernels {
namespace {

struct Backend {
  std::string_view name;
  // Null where it is not part of this build.
  Result<std::unique_ptr<Device>> (*open)(const DeviceOptions&);
  std::string_view how_to_build;
};

#if defined(BERTH_HAVE_CUDA)
constexpr auto* kOpenCuda = OpenCudaDevice;
#else
constexpr Result<std::unique_ptr<Device>> (*kOpenCuda)(const DeviceOptions&) = nullptr;
#endif
#if defined(BERTH_HAVE_HIP)
constexpr auto* kOpenHip = OpenHipDevice;
#else
constexpr Result<std::unique_ptr<Device>> (*kOpenHip)(const DeviceOptions&) = nullptr;
#endif

constexpr Backend kBackends[] = {
    {"host", OpenHostDevice, ""},
    {"cuda", kOpenCuda,
     "this build has no CUDA backend: build one with -DBERTH_CUDA=ON and the CUDA toolkit, or use "
     "a host card (host:0)"},
    {"hip", kOpenHip,
     "this build has no HIP backend: build one with -DBERTH_HIP=ON and the ROCm toolkit, or use a "
     "host card (host:0)"},
};

}  // namespace

Result<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const CardName card, ParseCardName(options.name));
  for (const Backend& known : kBackends) {
    if (known.name != card.backend) continue;
    if (known.open == nullptr) {
      return NotFoundError("card '" + options.name + "': " + std::string(known.how_to_build));
    }
    DeviceOptions named = options;
    named.name = card.ToString();
    return known.open(named);
  }
  return InternalError("card '" + options.name + "': a backend that was forgotten here");
}

}  // namespace berth::kernels
