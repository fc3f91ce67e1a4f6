// The gpu backend on the emulated card: the conformance suite, and how it takes a driver's errors.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/card_bytes.h"
#include "kernels/gpu/gpu_device.h"
#include "kernels/gpu/vendor_emulated_runtime.h"
#include "runtime/base/check.h"
#include "tests/kernels/device_conformance.h"
#include "tests/kernels/small_experts.h"

namespace berth::kernels {
namespace {

constexpr uint64_t kCardBytes = 64 << 20;

DeviceParam Card(std::string name, CopyPath copy_path, std::string card) {
  DeviceParam param;
  param.name = std::move(name);
  param.options.name = std::move(card);
  param.options.memory_bytes = kCardBytes;
  param.options.copy_path = copy_path;
  param.open = OpenEmulatedDevice;
  param.sink_holds_stream = false;
  param.allocates = true;
  return param;
}
const auto kCards =
    ::testing::Values(Card("emulated", CopyPath::kEngine, "emulated:0"),
                      Card("emulated_copy_kernel", CopyPath::kKernel, "emulated:1"));
INSTANTIATE_TEST_SUITE_P(Emulated, DeviceConformance, kCards, DeviceName);
INSTANTIATE_TEST_SUITE_P(Emulated, DeviceCall, kCards, DeviceName);

using gpu::emulated::FailCall;
using gpu::emulated::HoldElsewhere;
using gpu::emulated::SetCards;

bool Says(const Status& status, std::string_view part) {
  return status.message().find(part) != std::string_view::npos;
}

// Whatever a test arranged is over with it.
class EmulatedDevice : public ::testing::Test {
 protected:
  void TearDown() override {
    FailCall(nullptr, gpuSuccess);
    HoldElsewhere(0);
    SetCards(gpu::emulated::kCards);
  }
  static DeviceOptions Named(std::string name, uint64_t memory_bytes = kCardBytes) {
    DeviceOptions options;
    options.name = std::move(name);
    options.memory_bytes = memory_bytes;
    return options;
  }
  static std::unique_ptr<Device> Open(const DeviceOptions& options) {
    Result<std::unique_ptr<Device>> device = OpenEmulatedDevice(options);
    EXPECT_TRUE(device.ok()) << device.status().ToString();
    return std::move(*device);
  }
  static Status Refused(const DeviceOptions& options) {
    return OpenEmulatedDevice(options).status();
  }
};

// Host memory that is only touched where somebody writes.
class Pages {
 public:
  explicit Pages(size_t bytes) : bytes_(bytes) {
    data_ = static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    BERTH_CHECK(data_ != MAP_FAILED);
  }
  ~Pages() { munmap(data_, bytes_); }
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_;
  size_t bytes_;
};

TEST_F(EmulatedDevice, WhatIsMissingIsSaid) {
  EXPECT_EQ(Refused(Named("emulated:2")).code(), StatusCode::kNotFound);
  SetCards(0);
  const Status none = Refused(Named("emulated:0"));
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Says(none, "no emulated card on this machine")) << none.ToString();
  FailCall("GetDeviceCount", gpuErrorInsufficientDriver);
  const Status driver = Refused(Named("emulated:0"));
  EXPECT_EQ(driver.code(), StatusCode::kNotFound);
  EXPECT_TRUE(Says(driver, "no emulated driver")) << driver.ToString();
  SetCards(2);
  for (const char* call : {"SetDevice", "GetDeviceProperties", "MemGetInfo"}) {
    FailCall(call, gpuErrorLaunchFailure);
    const Status status = Refused(Named("emulated:1"));
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(Says(status, std::string("gpu") + call + ": unspecified launch failure"))
        << status.ToString();
  }
}

TEST_F(EmulatedDevice, ALinkRateIsForHostCards) {
  DeviceOptions options = Named("emulated:0");
  options.link_bytes_per_s = 1e9;
  EXPECT_EQ(Refused(options).code(), StatusCode::kInvalidArgument);
}

TEST_F(EmulatedDevice, SizesAreObeyedRefusedOrTheSameEveryTime) {
  const uint64_t alone = Open(Named("emulated:0", 0))->info().memory_bytes;
  EXPECT_GT(alone, gpu::emulated::kCardBytes / 2);
  EXPECT_EQ(Open(Named("emulated:0", 0))->info().memory_bytes, alone);
  EXPECT_EQ(Open(Named("emulated:0", 0))->info().note, "");
  // What others hold beyond what a driver takes anyway.
  HoldElsewhere(300 << 20);
  std::unique_ptr<Device> device = Open(Named("emulated:0", 0));
  EXPECT_LT(device->info().memory_bytes, alone);
  EXPECT_NE(device->info().note.find("less to use than alone"), std::string::npos)
      << device->info().note;
  EXPECT_EQ(Open(Named("emulated:0", 700 << 20))->info().memory_bytes, 700u << 20);
  const Status more = Refused(Named("emulated:0", 800 << 20));
  EXPECT_EQ(more.code(), StatusCode::kResourceExhausted);
  for (const char* part : {"asked 839 MB", "free", "lower --memory"}) {
    EXPECT_TRUE(Says(more, part)) << more.ToString();
  }
  HoldElsewhere(gpu::emulated::kCardBytes);
  EXPECT_EQ(Refused(Named("emulated:0", 0)).code(), StatusCode::kResourceExhausted);
}

TEST_F(EmulatedDevice, AReserveThatIsGoneIsSeenOnceMemoryIsWritten) {
  std::unique_ptr<Device> device = Open(Named("emulated:0", 0));
  std::unique_ptr<DeviceMemory> most = std::move(*device->Allocate(512 << 20, "slots"));
  EXPECT_EQ(device->ReserveShortfall(), 0u);
  HoldElsewhere(250 << 20);
  EXPECT_GT(device->ReserveShortfall(), 0u);
  // A size that was asked for is obeyed.
  std::unique_ptr<Device> asked = Open(Named("emulated:1"));
  HoldElsewhere(gpu::emulated::kCardBytes - kCardBytes);
  EXPECT_EQ(asked->ReserveShortfall(), 0u);
  HoldElsewhere(gpu::emulated::kCardBytes);
  const Status status = asked->Allocate(1 << 20, "the ring").status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(Says(status, "gpuMalloc: out of memory")) << status.ToString();
  EXPECT_EQ(asked->free_bytes(), kCardBytes);
}

TEST_F(EmulatedDevice, SeveralCardsRegisterTheSameMemory) {
  Pages pages(8192);
  std::unique_ptr<Device> first = Open(Named("emulated:0"));
  std::unique_ptr<Device> second = Open(Named("emulated:1"));
  ASSERT_TRUE(first->RegisterHost(pages.data(), 8192).ok());
  EXPECT_EQ(first->RegisterHost(pages.data(), 8192).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(second->CardAddress(pages.data(), 1), nullptr);
  EXPECT_EQ(second->RegisterHost(pages.data() + 4096, 4096).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(second->RegisterHost(pages.data(), 8192).ok());
  ASSERT_TRUE(first->UnregisterHost(pages.data()).ok());
  EXPECT_EQ(first->CardAddress(pages.data(), 1), nullptr);
  EXPECT_EQ(second->CardAddress(pages.data() + 1, 8191), pages.data() + 1);
  EXPECT_EQ(second->CardAddress(pages.data() + 1, 8192), nullptr);
  EXPECT_EQ(first->UnregisterHost(pages.data()).code(), StatusCode::kInvalidArgument);
  second.reset();  // gives back what was left
  EXPECT_TRUE(first->RegisterHost(pages.data(), 8192).ok());
  EXPECT_EQ(first->RegisterHost(pages.data(), 0).code(), StatusCode::kInvalidArgument);
}

TEST_F(EmulatedDevice, ARegistrationThatFailsLeavesNothingBehind) {
  Pages pages((size_t{5} << 29) + 4096);  // three pieces
  std::unique_ptr<Device> device = Open(Named("emulated:0"));
  for (const char* call : {"HostRegister", "HostGetDevicePointer"}) {
    FailCall(call, gpuErrorMemoryAllocation, 2);
    const Status status = device->RegisterHost(pages.data(), pages.bytes());
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
    EXPECT_TRUE(Says(status, call)) << status.ToString();
    EXPECT_EQ(gpuPeekAtLastError(), gpuSuccess);  // which the next launch would report
    FailCall(nullptr, gpuSuccess);
  }
  ASSERT_TRUE(device->RegisterHost(pages.data(), pages.bytes()).ok());
  EXPECT_TRUE(device->UnregisterHost(pages.data()).ok());
}

TEST_F(EmulatedDevice, ACopyGoesOnOverTheEndOfARegisteredPiece) {
  constexpr size_t kPiece = size_t{1} << 30;
  Pages pages(kPiece + 8192);
  std::unique_ptr<Device> device = Open(Named("emulated:0"));
  ASSERT_TRUE(device->RegisterHost(pages.data(), pages.bytes()).ok());
  std::unique_ptr<Stream> stream = std::move(*device->CreateStream({.name = "s"}));
  std::unique_ptr<DeviceMemory> card = std::move(*device->Allocate(8192, "test"));
  std::byte* from = pages.data() + kPiece - 4096;
  const std::vector<std::byte> noise = Noise(8192, 5);
  std::memcpy(from, noise.data(), noise.size());
  ASSERT_TRUE(stream->Copy(CopyDirection::kToCard, One(from, card->data(), 8192)).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  std::memset(from, 0, 8192);
  ASSERT_TRUE(stream->Copy(CopyDirection::kToHost, One(card->data(), from, 8192)).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_EQ(std::memcmp(from, noise.data(), 8192), 0);
  stream.reset();
  EXPECT_TRUE(device->UnregisterHost(pages.data()).ok());
}

TEST_F(EmulatedDevice, ALostCardRefusesWorkAndHangsNobody) {
  for (const char* call :
       {"MemcpyAsync", "EventRecord", "EventQuery", "StreamWaitEvent", "StreamSynchronize"}) {
    SCOPED_TRACE(call);
    Pages pages(4096);
    std::unique_ptr<Device> device = Open(Named("emulated:0"));
    ASSERT_TRUE(device->RegisterHost(pages.data(), 4096).ok());
    Collector sink;
    std::unique_ptr<Stream> stream =
        std::move(*device->CreateStream({.name = "first", .sink = &sink}));
    std::unique_ptr<Stream> other =
        std::move(*device->CreateStream({.name = "second", .sink = &sink}));
    std::unique_ptr<Event> event = std::move(*device->CreateEvent());
    std::unique_ptr<DeviceMemory> card = std::move(*device->Allocate(4096, "test"));
    FailCall(call, gpuErrorLaunchFailure, 1);
    size_t notified = 0;
    for (int i = 0; i < 20; ++i) {
      (void)stream->Copy(CopyDirection::kToCard, One(pages.data(), card->data(), 4096));
      (void)stream->Record(event.get());
      notified += stream->Notify(1).ok() ? 1 : 0;
      (void)other->Wait(event.get());
      notified += other->Notify(2).ok() ? 1 : 0;
      (void)other->Synchronize();
    }
    const Status lost = stream->Synchronize();
    EXPECT_EQ(lost.code(), StatusCode::kFailedPrecondition);
    EXPECT_TRUE(Says(lost, std::string("gpu") + call + ": unspecified launch failure"))
        << lost.ToString();
    EXPECT_TRUE(Says(lost, "emulated:0 is lost")) << lost.ToString();
    EXPECT_TRUE(sink.WaitForCount(notified));
    // What was reached before is well; then nothing is.
    bool failed = false;
    for (const Collector::Reached& reached : sink.all()) {
      failed |= !reached.status.ok();
      EXPECT_TRUE(reached.status.ok() || reached.status.code() == StatusCode::kFailedPrecondition);
    }
    EXPECT_TRUE(failed || notified < 40);
    EXPECT_EQ(stream->Notify(3).code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(device->CreateStream({.name = "third"}).status().code(),
              StatusCode::kFailedPrecondition);
    FailCall(nullptr, gpuSuccess);
  }
}

TEST_F(EmulatedDevice, ALayerWithSiblingsIsPrepared) {
  Pages pages(1 << 20);
  std::unique_ptr<Device> device = Open(Named("emulated:0"));
  ASSERT_TRUE(device->RegisterHost(pages.data(), pages.bytes()).ok());
  SmallExperts experts;
  ExpertSpec spec = experts.spec();
  spec.down_sibling.scale.assign(spec.experts, 2.0f);
  spec.down_sibling.bias.assign(size_t{spec.experts} * spec.hidden, 0.5f);
  EXPECT_GT(CardLayerBytes(spec), 0u);
  StreamOptions options{.name = "compute"};
  options.max_hidden = spec.hidden;
  options.max_ffn = spec.ffn;
  options.max_pairs = 1;
  std::unique_ptr<Stream> stream = std::move(*device->CreateStream(options));
  std::unique_ptr<DeviceMemory> unit = std::move(*device->Allocate(spec.unit_bytes, "unit"));
  const std::vector<std::byte> bytes = experts.UnitBytes(1);
  std::memcpy(pages.data(), bytes.data(), bytes.size());
  ASSERT_TRUE(
      stream->Copy(CopyDirection::kToCard, One(pages.data(), unit->data(), bytes.size())).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  float* const x = reinterpret_cast<float*>(pages.data());
  float* const partials = x + spec.hidden;
  for (uint32_t h = 0; h < spec.hidden; ++h) x[h] = 0.01f * static_cast<float>(h) - 0.3f;
  auto* const wave = reinterpret_cast<WaveUnit*>(pages.data() + 8192);
  *wave = {1, 1, 0, 1, unit->data()};
  auto* const pairs = reinterpret_cast<uint32_t*>(pages.data() + 12288);
  *pairs = 0;
  GroupedCall call;
  call.spec = &spec;
  call.units = wave;
  call.unit_count = 1;
  call.pairs = pairs;
  call.top_k = 1;
  call.x = x;
  call.partials = partials;
  EXPECT_EQ(stream->Run(call).code(), StatusCode::kFailedPrecondition);
  const uint64_t free = device->free_bytes();
  ASSERT_TRUE(device->PrepareLayer(spec).ok());
  EXPECT_EQ(device->free_bytes(), free - CardLayerBytes(spec));
  ASSERT_TRUE(device->PrepareLayer(spec).ok());
  ASSERT_TRUE(stream->Run(call).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  const std::vector<double> plain = experts.Apply(1, x);
  for (uint32_t h = 0; h < spec.hidden; ++h) {
    EXPECT_NEAR(partials[h], 2 * plain[h] + 0.5, 1e-5) << h;
  }
  // What the card cannot reach is refused before it is enqueued.
  std::vector<float> elsewhere(spec.hidden);
  call.x = elsewhere.data();
  EXPECT_EQ(stream->Run(call).code(), StatusCode::kInvalidArgument);
  ReduceCall reduce;
  reduce.rows = reduce.top_k = 1;
  reduce.hidden = spec.hidden;
  reduce.partials = partials;
  reduce.weights = x;
  reduce.ids = reinterpret_cast<const int32_t*>(pairs);
  reduce.y = elsewhere.data();
  reduce.y_stride = spec.hidden;
  EXPECT_EQ(stream->Reduce(reduce).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::kernels
