#include "kernels/gpu/vendor_emulated_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

struct EmulatedStream {
  int card;
};
struct EmulatedEvent {
  int card;
  int queries_left = 0;  // that say "not ready"
};

namespace {

constexpr int kQueriesUntilReady = 2;
constexpr size_t kAlign = 256;

struct Machine {
  std::mutex mutex;
  int cards = berth::kernels::gpu::emulated::kCards;
  size_t held_elsewhere = 0;
  std::map<char*, size_t> card_memory[berth::kernels::gpu::emulated::kCards];
  std::map<char*, size_t> host_memory;  // registered, or allocated so
  std::set<EmulatedStream*> streams;
  std::set<EmulatedEvent*> events;
  std::string fail_call;
  gpuError_t fail_with = gpuSuccess;
  int fail_after = 0;

  size_t Used(int card) const {
    size_t used = held_elsewhere;
    for (const auto& block : card_memory[card]) used += block.second;
    return used;
  }
};
Machine& TheMachine() {
  static Machine* const machine = new Machine;
  return *machine;
}

thread_local int current_card = 0;
thread_local gpuError_t last_error = gpuSuccess;

gpuError_t Return(gpuError_t error) {
  if (error != gpuSuccess) last_error = error;
  return error;
}

// What every call does first. Only fails where a test wants it to.
class Call {
 public:
  explicit Call(const char* name) : lock_(TheMachine().mutex) {
    Machine& machine = TheMachine();
    if (machine.fail_call == name && machine.fail_after-- <= 0) error_ = machine.fail_with;
  }
  gpuError_t error() const { return error_; }

 private:
  std::lock_guard<std::mutex> lock_;
  gpuError_t error_ = gpuSuccess;
};

bool Within(const std::map<char*, size_t>& blocks, const void* begin, size_t bytes) {
  char* const first = static_cast<char*>(const_cast<void*>(begin));
  auto after = blocks.upper_bound(first);
  if (after == blocks.begin()) return false;
  --after;
  const size_t offset = static_cast<size_t>(first - after->first);
  return offset <= after->second && bytes <= after->second - offset;
}

gpuError_t CopyNow(void* to, const void* from, size_t bytes, gpuMemcpyKind kind) {
  const Machine& machine = TheMachine();
  const void* on_card = kind == gpuMemcpyHostToDevice ? to : from;
  if (!Within(machine.card_memory[current_card], on_card, bytes)) return gpuErrorInvalidValue;
  std::memcpy(to, from, bytes);
  return gpuSuccess;
}

}  // namespace

namespace berth::kernels::gpu::emulated {

void FailCall(const char* name, gpuError_t error, int after) {
  const std::lock_guard<std::mutex> lock(TheMachine().mutex);
  TheMachine().fail_call = name == nullptr ? "" : name;
  TheMachine().fail_with = error;
  TheMachine().fail_after = after;
}
void HoldElsewhere(size_t bytes) {
  const std::lock_guard<std::mutex> lock(TheMachine().mutex);
  TheMachine().held_elsewhere = bytes;
}
void SetCards(int cards) {
  const std::lock_guard<std::mutex> lock(TheMachine().mutex);
  TheMachine().cards = cards;
}

}  // namespace berth::kernels::gpu::emulated

const char* gpuGetErrorString(gpuError_t error) {
  switch (error) {
    case gpuSuccess:
      return "no error";
    case gpuErrorInvalidValue:
      return "invalid argument";
    case gpuErrorMemoryAllocation:
      return "out of memory";
    case gpuErrorInsufficientDriver:
      return "driver version is insufficient";
    case gpuErrorNoDevice:
      return "no card is detected";
    case gpuErrorInvalidDevice:
      return "invalid card ordinal";
    case gpuErrorInvalidResourceHandle:
      return "invalid resource handle";
    case gpuErrorNotReady:
      return "not ready";
    case gpuErrorHostMemoryAlreadyRegistered:
      return "host memory is registered already";
    case gpuErrorHostMemoryNotRegistered:
      return "host memory is not registered";
    case gpuErrorLaunchFailure:
      return "unspecified launch failure";
  }
  return "unknown error";
}
const char* gpuGetErrorName(gpuError_t error) { return gpuGetErrorString(error); }
gpuError_t gpuGetLastError() {
  const gpuError_t error = last_error;
  last_error = gpuSuccess;
  return error;
}
gpuError_t gpuPeekAtLastError() { return last_error; }

gpuError_t gpuGetDeviceCount(int* count) {
  const Call call("GetDeviceCount");
  if (call.error() != gpuSuccess) return Return(call.error());
  *count = TheMachine().cards;
  return *count > 0 ? gpuSuccess : Return(gpuErrorNoDevice);
}
gpuError_t gpuGetDevice(int* card) {
  *card = current_card;
  return gpuSuccess;
}
gpuError_t gpuSetDevice(int card) {
  const Call call("SetDevice");
  if (call.error() != gpuSuccess) return Return(call.error());
  if (card < 0 || card >= TheMachine().cards) return Return(gpuErrorInvalidDevice);
  current_card = card;
  return gpuSuccess;
}
gpuError_t gpuGetDeviceProperties(gpuDeviceProp_t* properties, int card) {
  const Call call("GetDeviceProperties");
  if (card < 0 || card >= TheMachine().cards) return Return(gpuErrorInvalidDevice);
  *properties = {};
  std::strncpy(properties->name, "emulated card", sizeof(properties->name) - 1);
  properties->totalGlobalMem = berth::kernels::gpu::emulated::kCardBytes;
  properties->multiProcessorCount = 2;
  return Return(call.error());
}
gpuError_t gpuDeviceSynchronize() {
  const Call call("DeviceSynchronize");
  return Return(call.error());
}

gpuError_t gpuMemGetInfo(size_t* free, size_t* total) {
  const Call call("MemGetInfo");
  const size_t used = TheMachine().Used(current_card);
  *total = berth::kernels::gpu::emulated::kCardBytes;
  *free = used < *total ? *total - used : 0;
  return Return(call.error());
}
gpuError_t gpuMalloc(void** memory, size_t bytes) {
  const Call call("Malloc");
  if (call.error() != gpuSuccess) return Return(call.error());
  Machine& machine = TheMachine();
  const size_t used = machine.Used(current_card);
  const size_t total = berth::kernels::gpu::emulated::kCardBytes;
  if (used > total || bytes > total - used) return Return(gpuErrorMemoryAllocation);
  *memory = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  if (*memory == nullptr) return Return(gpuErrorMemoryAllocation);
  machine.card_memory[current_card][static_cast<char*>(*memory)] = bytes;
  return gpuSuccess;
}
gpuError_t gpuFree(void* memory) {
  const Call call("Free");
  if (memory == nullptr) return gpuSuccess;
  if (TheMachine().card_memory[current_card].erase(static_cast<char*>(memory)) == 0) {
    return Return(gpuErrorInvalidValue);
  }
  std::free(memory);
  return Return(call.error());
}
gpuError_t gpuMemset(void* memory, int value, size_t bytes) {
  const Call call("Memset");
  if (call.error() != gpuSuccess) return Return(call.error());
  if (!Within(TheMachine().card_memory[current_card], memory, bytes)) {
    return Return(gpuErrorInvalidValue);
  }
  std::memset(memory, value, bytes);
  return gpuSuccess;
}
gpuError_t gpuMemcpy(void* to, const void* from, size_t bytes, gpuMemcpyKind kind) {
  const Call call("Memcpy");
  if (call.error() != gpuSuccess) return Return(call.error());
  return Return(CopyNow(to, from, bytes, kind));
}
gpuError_t gpuMemcpyAsync(void* to, const void* from, size_t bytes, gpuMemcpyKind kind,
                          gpuStream_t stream) {
  const Call call("MemcpyAsync");
  if (call.error() != gpuSuccess) return Return(call.error());
  // A card would do it elsewhere without a word.
  if (stream->card != current_card) return Return(gpuErrorInvalidResourceHandle);
  // Pageable memory is copied too, but late.
  const void* on_host = kind == gpuMemcpyHostToDevice ? from : to;
  if (!Within(TheMachine().host_memory, on_host, bytes)) return Return(gpuErrorInvalidValue);
  return Return(CopyNow(to, from, bytes, kind));
}
gpuError_t gpuHostAlloc(void** memory, size_t bytes, unsigned) {
  const Call call("HostAlloc");
  if (call.error() != gpuSuccess) return Return(call.error());
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*memory == nullptr) return Return(gpuErrorMemoryAllocation);
  TheMachine().host_memory[static_cast<char*>(*memory)] = bytes;
  return gpuSuccess;
}
gpuError_t gpuFreeHost(void* memory) {
  const Call call("FreeHost");
  if (TheMachine().host_memory.erase(static_cast<char*>(memory)) == 0) {
    return Return(gpuErrorInvalidValue);
  }
  std::free(memory);
  return Return(call.error());
}
gpuError_t gpuHostRegister(void* memory, size_t bytes, unsigned) {
  const Call call("HostRegister");
  if (call.error() != gpuSuccess) return Return(call.error());
  if (memory == nullptr || bytes == 0) return Return(gpuErrorInvalidValue);
  // A driver pins pages: two registrations may not share one.
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const auto page = [](uintptr_t address) { return address / 4096; };
  for (const auto& [block, size] : TheMachine().host_memory) {
    const auto other = reinterpret_cast<uintptr_t>(block);
    if (page(begin) <= page(other + size - 1) && page(other) <= page(begin + bytes - 1)) {
      return Return(gpuErrorHostMemoryAlreadyRegistered);
    }
  }
  TheMachine().host_memory[static_cast<char*>(memory)] = bytes;
  return gpuSuccess;
}
gpuError_t gpuHostUnregister(void* memory) {
  const Call call("HostUnregister");
  if (TheMachine().host_memory.erase(static_cast<char*>(memory)) == 0) {
    return Return(gpuErrorHostMemoryNotRegistered);
  }
  return Return(call.error());
}
gpuError_t gpuHostGetDevicePointer(void** on_card, void* memory, unsigned) {
  const Call call("HostGetDevicePointer");
  if (call.error() != gpuSuccess) return Return(call.error());
  if (!Within(TheMachine().host_memory, memory, 1)) return Return(gpuErrorInvalidValue);
  *on_card = memory;
  return gpuSuccess;
}

gpuError_t gpuStreamCreateWithFlags(gpuStream_t* stream, unsigned) {
  const Call call("StreamCreateWithFlags");
  if (call.error() != gpuSuccess) return Return(call.error());
  *stream = new EmulatedStream{current_card};
  TheMachine().streams.insert(*stream);
  return gpuSuccess;
}
gpuError_t gpuStreamDestroy(gpuStream_t stream) {
  const Call call("StreamDestroy");
  if (TheMachine().streams.erase(stream) == 0) return Return(gpuErrorInvalidResourceHandle);
  delete stream;
  return Return(call.error());
}
gpuError_t gpuStreamSynchronize(gpuStream_t stream) {
  const Call call("StreamSynchronize");
  if (TheMachine().streams.count(stream) == 0) return Return(gpuErrorInvalidResourceHandle);
  return Return(call.error());
}
gpuError_t gpuStreamWaitEvent(gpuStream_t stream, gpuEvent_t event, unsigned) {
  const Call call("StreamWaitEvent");
  if (TheMachine().streams.count(stream) == 0 || TheMachine().events.count(event) == 0) {
    return Return(gpuErrorInvalidResourceHandle);
  }
  return Return(call.error());
}
gpuError_t gpuEventCreateWithFlags(gpuEvent_t* event, unsigned) {
  const Call call("EventCreateWithFlags");
  if (call.error() != gpuSuccess) return Return(call.error());
  *event = new EmulatedEvent{current_card};
  TheMachine().events.insert(*event);
  return gpuSuccess;
}
gpuError_t gpuEventDestroy(gpuEvent_t event) {
  const Call call("EventDestroy");
  if (TheMachine().events.erase(event) == 0) return Return(gpuErrorInvalidResourceHandle);
  delete event;
  return Return(call.error());
}
gpuError_t gpuEventRecord(gpuEvent_t event, gpuStream_t stream) {
  const Call call("EventRecord");
  if (call.error() != gpuSuccess) return Return(call.error());
  if (event->card != stream->card) return Return(gpuErrorInvalidResourceHandle);
  event->queries_left = kQueriesUntilReady;
  return gpuSuccess;
}
gpuError_t gpuEventQuery(gpuEvent_t event) {
  const Call call("EventQuery");
  if (call.error() != gpuSuccess) return Return(call.error());
  if (event->queries_left == 0) return gpuSuccess;
  --event->queries_left;
  return Return(gpuErrorNotReady);
}
gpuError_t gpuEventSynchronize(gpuEvent_t event) {
  const Call call("EventSynchronize");
  event->queries_left = 0;
  return Return(call.error());
}
