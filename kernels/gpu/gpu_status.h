// Errors of a card's run time as Status, and the current card of a thread.
#ifndef BERTH_KERNELS_GPU_GPU_STATUS_H_
#define BERTH_KERNELS_GPU_GPU_STATUS_H_

#include <string>
#include <string_view>

#include "berth/status.h"
#include "kernels/gpu/vendor.h"

namespace berth::kernels::gpu {

// "<where>: cudaMalloc: out of memory". `call` is the name without the vendor's prefix. Forgets the
// error that the run time keeps, which would be reported once more by the next launch.
Status GpuStatus(gpuError_t error, std::string_view where, std::string_view call);

// Makes a card the current one of this thread, and the one before again. Callers of a library have
// a current card of their own.
class ScopedCard {
 public:
  explicit ScopedCard(int card) {
    error_ = gpuGetDevice(&before_);
    if (error_ != gpuSuccess) before_ = card;
    if (before_ != card || error_ != gpuSuccess) error_ = gpuSetDevice(card);
    changed_ = before_ != card;
  }
  ~ScopedCard() {
    if (changed_) (void)gpuSetDevice(before_);
  }
  ScopedCard(const ScopedCard&) = delete;
  ScopedCard& operator=(const ScopedCard&) = delete;

  gpuError_t error() const { return error_; }

 private:
  gpuError_t error_;
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_GPU_STATUS_H_
