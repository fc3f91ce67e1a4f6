#include "tests/new_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> calls = 0;

void* CountedOrNull(std::size_t bytes) {
  calls.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* Counted(std::size_t bytes) {
  void* memory = CountedOrNull(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* Counted(std::size_t bytes, std::size_t align) {
  calls.fetch_add(1, std::memory_order_relaxed);
  void* memory = nullptr;
  if (posix_memalign(&memory, align < sizeof(void*) ? sizeof(void*) : align, bytes) != 0) {
    throw std::bad_alloc();
  }
  return memory;
}
}  // namespace

namespace berth {
uint64_t NewCalls() { return calls.load(); }
}  // namespace berth

// The array forms of the standard library call these. So do its nothrow forms, but not those a
// sanitizer puts in their place, whose memory std::free must not be handed.
void* operator new(std::size_t bytes) { return Counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return CountedOrNull(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  return Counted(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
