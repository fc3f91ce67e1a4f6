#include "kernels/gpu/emulated/fiber.h"

#if defined(__SANITIZE_ADDRESS__)
#define BERTH_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BERTH_FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define BERTH_FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BERTH_FIBER_TSAN 1
#endif
#endif
// Declared here: these headers come with sanitizers only.
extern "C" {
#if defined(BERTH_FIBER_ASAN)
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t bytes);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* bytes);
#endif
#if defined(BERTH_FIBER_TSAN)
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
#endif
}

#if defined(__x86_64__)
// Saves what a function has to keep, leaves this stack at *from and goes on with `to`. A context of
// the C library would ask the kernel for its signal mask at every switch.
extern "C" void BerthSwitchStack(void** from, void* to);
asm(R"(
.text
.type BerthSwitchStack, @function
BerthSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size BerthSwitchStack, .-BerthSwitchStack
)");
#endif

namespace berth::kernels::gpu::emulated {
namespace {

// A new stack's first function has no arguments.
thread_local Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber() : stack_(new uint8_t[kStackBytes]) {
#if defined(__x86_64__)
  // As BerthSwitchStack finds it: six registers, the return address, and the stack pointer 8 off a
  // multiple of 16, as it is behind a call.
  auto top = reinterpret_cast<uintptr_t>(stack_.get() + kStackBytes) & ~uintptr_t{15};
  auto* slots = reinterpret_cast<uint64_t*>(top) - 8;
  for (int i = 0; i < 8; ++i) slots[i] = 0;
  slots[6] = reinterpret_cast<uint64_t>(&Fiber::Entry);
  at_ = slots;
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = kStackBytes;
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::Entry, 0);
#endif
#if defined(BERTH_FIBER_TSAN)
  thread_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(BERTH_FIBER_TSAN)
  __tsan_destroy_fiber(thread_);
#endif
}

bool Fiber::Start(const std::function<void()>& body) {
  body_ = &body;
  done_ = false;
  return Resume();
}

bool Fiber::Resume() {
  entering = this;
#if defined(BERTH_FIBER_TSAN)
  caller_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_, 0);
#endif
#if defined(BERTH_FIBER_ASAN)
  __sanitizer_start_switch_fiber(&caller_fake_stack_, stack_.get(), kStackBytes);
#endif
#if defined(__x86_64__)
  BerthSwitchStack(&caller_, at_);
#else
  swapcontext(&caller_context_, &context_);
#endif
#if defined(BERTH_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
#endif
  return !done_;
}

void Fiber::Yield() {
#if defined(BERTH_FIBER_TSAN)
  __tsan_switch_to_fiber(caller_thread_, 0);
#endif
#if defined(BERTH_FIBER_ASAN)
  __sanitizer_start_switch_fiber(&fake_stack_, caller_bottom_, caller_bytes_);
#endif
#if defined(__x86_64__)
  BerthSwitchStack(&at_, caller_);
#else
  swapcontext(&context_, &caller_context_);
#endif
#if defined(BERTH_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack_, &caller_bottom_, &caller_bytes_);
#endif
}

void Fiber::Entry() { entering->Loop(); }

void Fiber::Loop() {
#if defined(BERTH_FIBER_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &caller_bottom_, &caller_bytes_);
#endif
  for (;;) {
    (*body_)();
    done_ = true;
    Yield();
  }
}

}  // namespace berth::kernels::gpu::emulated
