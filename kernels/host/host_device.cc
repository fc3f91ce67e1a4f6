#include "kernels/host/host_device.h"

#include <cmath>
#include <exception>
#include <new>
#include <string>

#include "kernels/host/host_event.h"
#include "kernels/host/host_stream.h"
#include "kernels/host/pointer_table.h"
#include "runtime/base/check.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BERTH_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(BERTH_ADDRESS_SANITIZER) || !defined(NDEBUG)
constexpr bool kAlwaysPoison = true;
#else
constexpr bool kAlwaysPoison = false;
#endif

constexpr uint32_t kMaxThreads = 1024;

class HostDevice final : public Device {
 public:
  HostDevice(DeviceInfo info, bool poison, std::shared_ptr<WorkerPool> pool, const HostMath& math)
      : info_(std::move(info)),
        card_(info_.name, info_.memory_bytes, poison, info_.link_bytes_per_s, std::move(pool),
              math) {
    info_.threads = card_.pool->thread_count();
  }
  ~HostDevice() override { BERTH_CHECK_MSG(card_.streams == 0, "a stream outlives its device"); }

  const DeviceInfo& info() const override { return info_; }
  uint64_t free_bytes() const override { return card_.memory.free_bytes(); }
  Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes, std::string_view purpose) override {
    return card_.memory.Allocate(bytes, purpose);
  }
  Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) override {
    return HostStream::Create(&card_, options);
  }
  uint64_t workspace_bytes() const override { return card_.workspace_bytes; }
  Result<std::unique_ptr<Event>> CreateEvent() override {
    return std::unique_ptr<Event>(std::make_unique<HostEvent>());
  }
  Status CreateTable(uint32_t units) override;
  // Every address of this process can be copied from.
  Status RegisterHost(std::byte*, size_t) override { return Status(); }
  Status UnregisterHost(std::byte*) override { return Status(); }

 private:
  DeviceInfo info_;  // not written once the device is made
  HostCard card_;
  Mutex mutex_;
  std::unique_ptr<PointerTable> table_ BERTH_GUARDED_BY(mutex_);
};

Status HostDevice::CreateTable(uint32_t units) {
  MutexLock lock(&mutex_);
  if (table_ != nullptr) {
    return FailedPreconditionError("card " + info_.name + ": has its pointer table already");
  }
  try {
    table_ = std::make_unique<PointerTable>(units);
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError("card " + info_.name + ": no memory for a pointer table of " +
                                  std::to_string(units) + " units");
  }
  card_.table.store(table_.get(), std::memory_order_release);
  return Status();
}

}  // namespace

Result<std::unique_ptr<Device>> OpenHostDevice(const DeviceOptions& options) {
  const double rate = options.link_bytes_per_s;
  if (rate != 0 && !(std::isfinite(rate) && rate >= 1000)) {
    return InvalidArgumentError("card " + options.name + ": a link rate of " +
                                std::to_string(rate) +
                                " bytes/s; it is 0 (not paced) or at least "
                                "1000");
  }
  if (options.threads > kMaxThreads) {
    return InvalidArgumentError("card " + options.name + ": " + std::to_string(options.threads) +
                                " compute threads; at most " + std::to_string(kMaxThreads));
  }
  const HostMath math{options.arithmetic, options.isa};
  if (math.arithmetic.exact_rows > kMostExactRows) {
    return InvalidArgumentError("card " + options.name + ": exact arithmetic up to " +
                                std::to_string(math.arithmetic.exact_rows) + " rows; at most " +
                                std::to_string(kMostExactRows));
  }
  if (math.isa > BestIsa()) {
    return InvalidArgumentError("card " + options.name + ": this machine does not run " +
                                std::string(IsaName(math.isa)) + "; the best it has is " +
                                std::string(IsaName(BestIsa())));
  }
  DeviceInfo info;
  info.name = options.name;
  info.backend = "host";
  info.memory_bytes = options.memory_bytes;
  info.link_bytes_per_s = rate;
  if (info.memory_bytes == 0) info.memory_bytes = DefaultCardBytes();
  try {
    return std::unique_ptr<Device>(
        std::make_unique<HostDevice>(std::move(info), kAlwaysPoison || options.poison,
                                     SharedWorkerPool(options.threads, options.processors), math));
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError("card " + options.name +
                                  ": no memory for its threads; lower --threads");
  } catch (const std::exception& error) {  // what std::thread or oneTBB throw: not only one type
    return ResourceExhaustedError("card " + options.name + ": no threads to compute with: " +
                                  error.what() + "; lower --threads or raise the system's limit");
  }
}

}  // namespace berth::kernels
