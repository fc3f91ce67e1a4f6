// Run-time calls of a card under their common names: those of the emulated card, which tests play
// where no card is. Its memory is the host's, and all work is done at once by the thread that
// enqueues it: a stream is only a name. What a driver checks is checked: addresses of copies, the
// current card, what was registered. Events say "not ready" a few times before they are, so that
// who polls has to.
#ifndef BERTH_KERNELS_GPU_VENDOR_EMULATED_RUNTIME_H_
#define BERTH_KERNELS_GPU_VENDOR_EMULATED_RUNTIME_H_

#include <cstddef>
#include <cstdint>

#define BERTH_GPU_PREFIX "gpu"
#define BERTH_GPU_BACKEND "emulated"

// These names have no namespace, as a vendor's have none: a program has one flavour that spells
// them so.
enum gpuError_t : int {
  gpuSuccess = 0,
  gpuErrorInvalidValue = 1,
  gpuErrorMemoryAllocation = 2,
  gpuErrorInsufficientDriver = 35,
  gpuErrorNoDevice = 100,
  gpuErrorInvalidDevice = 101,
  gpuErrorInvalidResourceHandle = 400,
  gpuErrorNotReady = 600,
  gpuErrorHostMemoryAlreadyRegistered = 712,
  gpuErrorHostMemoryNotRegistered = 713,
  gpuErrorLaunchFailure = 719,
};
enum gpuMemcpyKind : int { gpuMemcpyHostToDevice = 1, gpuMemcpyDeviceToHost = 2 };

struct gpuDeviceProp_t {
  char name[256];
  size_t totalGlobalMem;
  int multiProcessorCount;
  int major, minor;
};

struct EmulatedStream;
struct EmulatedEvent;
using gpuStream_t = EmulatedStream*;
using gpuEvent_t = EmulatedEvent*;

inline constexpr unsigned gpuHostAllocPortable = 1, gpuHostAllocMapped = 2;
inline constexpr unsigned gpuHostRegisterPortable = 1, gpuHostRegisterMapped = 2;
inline constexpr unsigned gpuStreamNonBlocking = 1;
inline constexpr unsigned gpuEventDisableTiming = 2;

const char* gpuGetErrorString(gpuError_t error);
const char* gpuGetErrorName(gpuError_t error);
gpuError_t gpuGetLastError();  // of this thread; forgets it
gpuError_t gpuPeekAtLastError();

gpuError_t gpuGetDeviceCount(int* count);
gpuError_t gpuGetDevice(int* card);
gpuError_t gpuSetDevice(int card);
gpuError_t gpuGetDeviceProperties(gpuDeviceProp_t* properties, int card);
gpuError_t gpuDeviceSynchronize();

gpuError_t gpuMemGetInfo(size_t* free, size_t* total);
gpuError_t gpuMalloc(void** memory, size_t bytes);
gpuError_t gpuFree(void* memory);
gpuError_t gpuMemset(void* memory, int value, size_t bytes);
gpuError_t gpuMemcpy(void* to, const void* from, size_t bytes, gpuMemcpyKind kind);
gpuError_t gpuMemcpyAsync(void* to, const void* from, size_t bytes, gpuMemcpyKind kind,
                          gpuStream_t stream);
gpuError_t gpuHostAlloc(void** memory, size_t bytes, unsigned flags);
gpuError_t gpuFreeHost(void* memory);
gpuError_t gpuHostRegister(void* memory, size_t bytes, unsigned flags);
gpuError_t gpuHostUnregister(void* memory);
gpuError_t gpuHostGetDevicePointer(void** on_card, void* memory, unsigned flags);

gpuError_t gpuStreamCreateWithFlags(gpuStream_t* stream, unsigned flags);
gpuError_t gpuStreamDestroy(gpuStream_t stream);
gpuError_t gpuStreamSynchronize(gpuStream_t stream);
gpuError_t gpuStreamWaitEvent(gpuStream_t stream, gpuEvent_t event, unsigned flags);
gpuError_t gpuEventCreateWithFlags(gpuEvent_t* event, unsigned flags);
gpuError_t gpuEventDestroy(gpuEvent_t event);
gpuError_t gpuEventRecord(gpuEvent_t event, gpuStream_t stream);
gpuError_t gpuEventQuery(gpuEvent_t event);
gpuError_t gpuEventSynchronize(gpuEvent_t event);

// What tests set up.
namespace berth::kernels::gpu::emulated {

inline constexpr int kCards = 2;
inline constexpr size_t kCardBytes = size_t{1} << 30;

// The call of this name ("MemcpyAsync"; null: none) fails with `error` from now on, after it has
// been let through `after` times.
void FailCall(const char* name, gpuError_t error, int after = 0);
// Memory of each card that somebody else holds.
void HoldElsewhere(size_t bytes);
// Cards that there are: up to kCards, or 0.
void SetCards(int cards);

}  // namespace berth::kernels::gpu::emulated

#endif  // BERTH_KERNELS_GPU_VENDOR_EMULATED_RUNTIME_H_
