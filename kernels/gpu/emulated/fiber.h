// A second stack that the calling thread can go on with: the threads of the emulated card. Known to
// the sanitizers, which follow stacks.
#ifndef BERTH_KERNELS_GPU_EMULATED_FIBER_H_
#define BERTH_KERNELS_GPU_EMULATED_FIBER_H_

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace berth::kernels::gpu::emulated {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Called on the thread's own stack: runs `body` up to its next Yield or its end; Resume goes on.
  // False at the end. `body` must live that long.
  bool Start(const std::function<void()>& body);
  bool Resume();
  // Called in the body: back to whoever started or resumed it.
  void Yield();

 private:
  static constexpr size_t kStackBytes = 256 << 10;

  static void Entry();
  [[noreturn]] void Loop();

  std::unique_ptr<uint8_t[]> stack_;
  const std::function<void()>* body_ = nullptr;
  bool done_ = true;
  void* at_ = nullptr;      // where the fiber's stack stands while others run
  void* caller_ = nullptr;  // and the caller's while the fiber runs
  ucontext_t context_, caller_context_;
  void* fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_bottom_ = nullptr;
  size_t caller_bytes_ = 0;
  void* thread_ = nullptr;
  void* caller_thread_ = nullptr;
};

}  // namespace berth::kernels::gpu::emulated

#endif  // BERTH_KERNELS_GPU_EMULATED_FIBER_H_
