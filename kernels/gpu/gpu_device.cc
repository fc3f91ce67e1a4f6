#include "kernels/gpu/gpu_device.h"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/card_name.h"
#include "kernels/gpu/expert_launch.h"
#include "kernels/gpu/gpu_card.h"
#include "kernels/gpu/gpu_status.h"
#include "kernels/gpu/gpu_stream.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::kernels {
namespace gpu {
namespace {

class GpuDevice final : public Device {
 public:
  GpuDevice(DeviceInfo info, int ordinal, const GpuBudget& budget)
      : info_(std::move(info)),
        reserve_bytes_(budget.reserve_bytes),
        card_(info_.name, ordinal, info_.memory_bytes) {}
  ~GpuDevice() override { BERTH_CHECK_MSG(card_.streams == 0, "a stream outlives its device"); }

  GpuCard* card() { return &card_; }

  const DeviceInfo& info() const override { return info_; }
  uint64_t free_bytes() const override { return card_.memory.free_bytes(); }
  uint64_t ReserveShortfall() override;
  Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes, std::string_view purpose) override {
    return card_.memory.Allocate(bytes, purpose);
  }
  Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) override {
    return GpuStream::Create(&card_, options);
  }
  uint64_t workspace_bytes() const override { return card_.workspace_bytes; }
  Result<std::unique_ptr<Event>> CreateEvent() override {
    return std::unique_ptr<Event>(std::make_unique<GpuEvent>());
  }
  Status CreateTable(uint32_t units) override;
  Status PrepareLayer(const ExpertSpec& spec) override {
    return card_.layers.Prepare(spec).Annotate("card " + info_.name);
  }
  std::vector<KernelChoice> Kernels(const ExpertSpec& spec, uint32_t rows,
                                    uint32_t top_k) const override;
  KernelLaunches kernel_launches() const override { return card_.launches(); }
  Status RegisterHost(std::byte* begin, size_t bytes) override {
    return card_.host.Register(begin, bytes);
  }
  Status UnregisterHost(std::byte* begin) override { return card_.host.Unregister(begin); }
  const std::byte* CardAddress(const std::byte* host, size_t bytes) const override {
    return card_.host.OnCard(host, bytes);
  }

 private:
  DeviceInfo info_;  // not written once the device is made
  const uint64_t reserve_bytes_;
  GpuCard card_;
  Mutex mutex_;
  std::unique_ptr<DeviceMemory> table_memory_ BERTH_GUARDED_BY(mutex_);
  UnitTable table_;  // written once, before the card learns of it
};

uint64_t GpuDevice::ReserveShortfall() {
  if (reserve_bytes_ == 0) return 0;
  const ScopedCard current(card_.ordinal);
  size_t free = 0, total = 0;
  if (gpuDeviceSynchronize() != gpuSuccess || gpuMemGetInfo(&free, &total) != gpuSuccess) {
    (void)gpuGetLastError();
    return 0;  // whatever is wrong shows where work is done
  }
  // What has not been allocated yet of the budget is free as well.
  const uint64_t wanted = reserve_bytes_ / 2 + card_.memory.free_bytes();
  return free < wanted ? wanted - free : 0;
}

Status GpuDevice::CreateTable(uint32_t units) {
  MutexLock lock(&mutex_);
  if (table_memory_ != nullptr) {
    return FailedPreconditionError("card " + info_.name + ": has its pointer table already");
  }
  const size_t bytes = std::max<size_t>(1, units) * sizeof(std::byte*);
  BERTH_ASSIGN_OR_RETURN(table_memory_, card_.memory.Allocate(bytes, "pointer table"));
  const ScopedCard current(card_.ordinal);
  const std::string where = "card " + info_.name + ": pointer table";
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuMemset(table_memory_->data(), 0, bytes), where, "Memset"));
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuDeviceSynchronize(), where, "DeviceSynchronize"));
  table_ = {reinterpret_cast<const std::byte**>(table_memory_->data()), units};
  card_.table.store(&table_, std::memory_order_release);
  return Status();
}

std::vector<KernelChoice> GpuDevice::Kernels(const ExpertSpec& spec, uint32_t rows,
                                             uint32_t top_k) const {
  ExpertLauncher launcher;
  launcher.arithmetic = card_.arithmetic;
  launcher.processors = card_.processors;
  const ScopedCard current(card_.ordinal);
  return ExpertKernels(launcher, spec, rows, top_k);
}

std::string PropertiesOf(const gpuDeviceProp_t& card) {
  return std::string(card.name) + ", " + std::to_string(card.multiProcessorCount) +
         " processors, compute " + std::to_string(card.major) + "." + std::to_string(card.minor) +
         ", " + FormatBytes(card.totalGlobalMem);
}

// How many cards there are; an error that says what is missing where there is none.
Result<int> CountCards(const std::string& what) {
  int count = 0;
  const gpuError_t error = gpuGetDeviceCount(&count);
  if (error == gpuErrorInsufficientDriver) {
    (void)gpuGetLastError();
    return NotFoundError(what +
                         ": no " BERTH_GPU_BACKEND
                         " driver on this machine, or an older one than this build needs "
                         "(" +
                         std::string(gpuGetErrorString(error)) + "): use a host card (host:0)");
  }
  if (error == gpuErrorNoDevice || (error == gpuSuccess && count == 0)) {
    (void)gpuGetLastError();
    return NotFoundError(what + ": no " BERTH_GPU_BACKEND
                                " card on this machine: use a host card (host:0)");
  }
  BERTH_RETURN_IF_ERROR(GpuStatus(error, what, "GetDeviceCount"));
  return count;
}

Status CheckOptions(const DeviceOptions& options, const std::string& what) {
  if (options.link_bytes_per_s != 0) {
    return InvalidArgumentError(what + ": a link rate is imposed on host cards only");
  }
  if (options.arithmetic.exact_rows > kMostExactRows) {
    return InvalidArgumentError(what + ": exact arithmetic up to " +
                                std::to_string(options.arithmetic.exact_rows) + " rows; at most " +
                                std::to_string(kMostExactRows));
  }
  return Status();
}

Result<std::unique_ptr<Device>> Open(const DeviceOptions& options) {
  const std::string what = "card " + options.name;
  BERTH_RETURN_IF_ERROR(CheckOptions(options, what));
  BERTH_ASSIGN_OR_RETURN(const int count, CountCards(what));
  const std::string digits = options.name.substr(options.name.find(':') + 1);
  const unsigned long number = std::stoul(digits);  // the name has been looked at
  if (number >= static_cast<unsigned long>(count)) {
    return NotFoundError(what + ": there are " + std::to_string(count) +
                         " " BERTH_GPU_BACKEND " cards here, numbered from 0");
  }
  const int ordinal = static_cast<int>(number);
  const ScopedCard current(ordinal);
  BERTH_RETURN_IF_ERROR(GpuStatus(current.error(), what, "SetDevice"));
  gpuDeviceProp_t properties;
  BERTH_RETURN_IF_ERROR(
      GpuStatus(gpuGetDeviceProperties(&properties, ordinal), what, "GetDeviceProperties"));
  // Before memory is read: kernels take some.
  BERTH_RETURN_IF_ERROR(LoadExpertKernels().Annotate(what));
  size_t free = 0, total = 0;
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuMemGetInfo(&free, &total), what, "MemGetInfo"));
  BERTH_ASSIGN_OR_RETURN(const GpuBudget budget,
                         PlanBudget(options.name, options.memory_bytes, free, total));
  DeviceInfo info;
  info.name = options.name;
  info.backend = BERTH_GPU_BACKEND;
  info.memory_bytes = budget.bytes;
  info.model = properties.name;
  info.properties = PropertiesOf(properties);
  info.note = budget.note;
  info.host_memory = HostMemory::kRegistered;
  auto device = std::make_unique<GpuDevice>(std::move(info), ordinal, budget);
  device->card()->arithmetic = options.arithmetic;
  device->card()->processors = static_cast<uint32_t>(properties.multiProcessorCount);
  device->card()->copy_by_kernel = options.copy_path == CopyPath::kKernel;
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace

Result<std::unique_ptr<Device>> OpenDeviceHere(const DeviceOptions& options) {
  try {
    return Open(options);
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError("card " + options.name + ": out of memory");
  } catch (const std::system_error& error) {
    return ResourceExhaustedError("card " + options.name + ": no thread for it: " + error.what());
  }
}

}  // namespace gpu

#if defined(BERTH_GPU_CUDA)
Result<std::unique_ptr<Device>> OpenCudaDevice(const DeviceOptions& options) {
  return gpu::OpenDeviceHere(options);
}
#elif defined(BERTH_GPU_HIP)
Result<std::unique_ptr<Device>> OpenHipDevice(const DeviceOptions& options) {
  return gpu::OpenDeviceHere(options);
}
#else
Result<std::unique_ptr<Device>> OpenEmulatedDevice(const DeviceOptions& options) {
  return gpu::OpenDeviceHere(options);
}
#endif

}  // namespace berth::kernels
