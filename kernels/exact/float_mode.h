// FloatMode: the float environment that the exact arithmetic is defined in, for as long as it
// lives: round to nearest even, denormals kept (neither flushed nor read as zero), no traps.
// Callers come with whatever they like (many set flush-to-zero); theirs comes back at the end.
#ifndef BERTH_KERNELS_EXACT_FLOAT_MODE_H_
#define BERTH_KERNELS_EXACT_FLOAT_MODE_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include <bit>
#include <cstdint>

namespace berth::kernels {

// What is stored for a result that is no number: which NaN an operation gives differs between
// processors, and on one of them between what the operands were.
inline float WithOneNan(float value) {
  return value == value ? value : std::bit_cast<float>(uint32_t{0x7fc00000});
}

class FloatMode {
 public:
#if defined(__x86_64__)
  FloatMode() : before_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~FloatMode() { _mm_setcsr(before_); }
#else
  FloatMode() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatMode() { std::fesetenv(&before_); }
#endif
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, everything else off
  unsigned before_;
#else
  std::fenv_t before_;
#endif
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_FLOAT_MODE_H_
