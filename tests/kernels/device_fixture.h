// The fixture of the device conformance suite, and what its tests are written with.
#ifndef BERTH_TESTS_KERNELS_DEVICE_FIXTURE_H_
#define BERTH_TESTS_KERNELS_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {

struct DeviceParam {
  std::string name;       // of the instance
  DeviceOptions options;  // how to open the card
  Result<std::unique_ptr<Device>> (*open)(const DeviceOptions&) = OpenDevice;
  // A stream goes no further while a sink of it is being told, and an entry keeps its place in the
  // queue until it is done, not only until a driver has it.
  bool sink_holds_stream = true;
  bool allocates = false;       // calls of operator new in the step path are the emulation's own
  bool may_be_missing = false;  // tests are skipped where there is no such card
};
inline void PrintTo(const DeviceParam& param, std::ostream* out) { *out << param.name; }

// Remembers what it is told.
class Collector final : public StreamSink {
 public:
  struct Reached {
    uint64_t token;
    Status status;
  };
  Collector() { reached_.reserve(4096); }
  void StreamReached(uint64_t token, const Status& status) override {
    MutexLock lock(&mutex_);
    reached_.push_back({token, status});
    changed_.SignalAll();
  }
  std::vector<Reached> all() {
    MutexLock lock(&mutex_);
    return reached_;
  }
  bool WaitForCount(size_t count, std::chrono::nanoseconds at_most = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    MutexLock lock(&mutex_);
    while (reached_.size() < count) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      changed_.WaitFor(&mutex_, left);
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Reached> reached_ BERTH_GUARDED_BY(mutex_);
};

// Holds a stream up at its notify until it is opened.
class Gate final : public StreamSink {
 public:
  void StreamReached(uint64_t, const Status&) override {
    MutexLock lock(&mutex_);
    arrived_ = true;
    changed_.SignalAll();
    while (!open_) changed_.Wait(&mutex_);
  }
  void AwaitArrival() {
    MutexLock lock(&mutex_);
    while (!arrived_) changed_.Wait(&mutex_);
  }
  void Open() {
    MutexLock lock(&mutex_);
    open_ = true;
    changed_.SignalAll();
  }
  void Await() {
    MutexLock lock(&mutex_);
    while (!open_) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool arrived_ BERTH_GUARDED_BY(mutex_) = false;
  bool open_ BERTH_GUARDED_BY(mutex_) = false;
};

inline std::array<CopySegment, 1> One(const std::byte* from, std::byte* to, size_t bytes) {
  return {CopySegment{from, to, bytes}};
}

// Bytes that depend on their place and the seed.
inline std::vector<std::byte> Noise(size_t bytes, uint64_t seed) {
  std::vector<std::byte> noise(bytes);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (std::byte& byte : noise) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return noise;
}

class DeviceConformance : public ::testing::TestWithParam<DeviceParam> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> device = GetParam().open(GetParam().options);
    if (GetParam().may_be_missing && device.status().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << device.status().ToString();
    }
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = std::move(*device);
    void* pool =
        mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pool, MAP_FAILED);
    pool_ = static_cast<std::byte*>(pool);
    const Status registered = device_->RegisterHost(pool_, kPoolBytes);
    ASSERT_TRUE(registered.ok()) << registered.ToString();
  }
  void TearDown() override {
    if (pool_ == nullptr) return;
    EXPECT_TRUE(device_->UnregisterHost(pool_).ok());
    munmap(pool_, kPoolBytes);
  }

  std::unique_ptr<Stream> MakeStream(const std::string& name, StreamSink* sink = nullptr,
                                     uint32_t capacity = 256) {
    return MakeStream(StreamOptions{.name = name, .capacity = capacity, .sink = sink});
  }
  std::unique_ptr<Stream> MakeStream(const StreamOptions& options) {
    Result<std::unique_ptr<Stream>> stream = device_->CreateStream(options);
    EXPECT_TRUE(stream.ok()) << stream.status().ToString();
    return std::move(*stream);
  }
  std::unique_ptr<Event> MakeEvent() { return std::move(*device_->CreateEvent()); }
  std::unique_ptr<DeviceMemory> Allocate(size_t bytes) {
    return std::move(*device_->Allocate(bytes, "test"));
  }

  // Registered host memory, until the test ends.
  template <typename T>
  std::span<T> Host(size_t count, T value = T()) {
    pool_used_ = (pool_used_ + 63) / 64 * 64;
    T* const first = reinterpret_cast<T*>(pool_ + pool_used_);
    pool_used_ += count * sizeof(T);
    if (pool_used_ > kPoolBytes) ADD_FAILURE() << "the test needs a larger pool";
    std::uninitialized_fill_n(first, count, value);
    return {first, count};
  }
  template <typename T>
  std::span<T> OnHost(const std::vector<T>& values) {
    const std::span<T> copy = Host<T>(values.size());
    std::copy(values.begin(), values.end(), copy.begin());
    return copy;
  }
  static bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
  }

  std::unique_ptr<Device> device_;

 private:
  static constexpr size_t kPoolBytes = 32 << 20;

  std::byte* pool_ = nullptr;
  size_t pool_used_ = 0;
};

}  // namespace berth::kernels

#endif  // BERTH_TESTS_KERNELS_DEVICE_FIXTURE_H_
