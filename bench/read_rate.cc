#include "bench/read_rate.h"

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/base/math.h"

namespace berth::bench {
namespace {

constexpr size_t kStep = 256;  // bytes: four vectors of 512 bits

// Four running sums, so that no addition waits for another, each written out, so that compilers
// keep them in registers. GCC's and clang's portable vectors; which instructions they become is up
// to the function that this is inlined in.
template <typename Vector>
[[gnu::always_inline]] inline uint64_t Sum(const std::byte* from, size_t bytes) {
  const auto* at = reinterpret_cast<const Vector*>(from);
  const auto* const end = reinterpret_cast<const Vector*>(from + bytes);
  Vector a = {}, b = {}, c = {}, d = {};
  for (; at < end; at += 4) {
    a += at[0];
    b += at[1];
    c += at[2];
    d += at[3];
  }
  a += b + c + d;
  uint64_t total = 0;
  for (size_t lane = 0; lane < sizeof(Vector) / sizeof(uint64_t); ++lane) total += a[lane];
  return total;
}

using Vector128 [[gnu::vector_size(16), gnu::aligned(1), gnu::may_alias]] = uint64_t;

uint64_t SumPlain(const std::byte* from, size_t bytes) { return Sum<Vector128>(from, bytes); }

#if defined(__x86_64__)
using Vector256 [[gnu::vector_size(32), gnu::aligned(1), gnu::may_alias]] = uint64_t;
using Vector512 [[gnu::vector_size(64), gnu::aligned(1), gnu::may_alias]] = uint64_t;

[[gnu::target("avx2")]] uint64_t SumAvx2(const std::byte* from, size_t bytes) {
  return Sum<Vector256>(from, bytes);
}
[[gnu::target("avx512f,avx512bw,avx512vl")]] uint64_t SumAvx512(const std::byte* from,
                                                                size_t bytes) {
  return Sum<Vector512>(from, bytes);
}
#endif

uint64_t (*WidestSum())(const std::byte*, size_t) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return SumAvx512;
  }
  if (__builtin_cpu_supports("avx2")) return SumAvx2;
#endif
  return SumPlain;
}

// Where the sums go, so that no compiler leaves them out.
std::atomic<uint64_t> sink;

}  // namespace

double ReadBytesPerSecond(std::span<const std::byte> memory, uint32_t threads, Clock clock) {
  const auto sum = WidestSum();
  const size_t share = AlignDown(memory.size() / threads, kStep);
  const auto read = [&](uint32_t thread) {
    sink.fetch_add(sum(memory.data() + thread * share, share), std::memory_order_relaxed);
  };
  const Stopwatch watch(clock);
  std::vector<std::thread> others;
  for (uint32_t thread = 1; thread < threads; ++thread) others.emplace_back(read, thread);
  read(0);
  for (std::thread& other : others) other.join();
  return static_cast<double>(share * threads) / watch.Seconds();
}

}  // namespace berth::bench
