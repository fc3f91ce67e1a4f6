#include "kernels/gpu/expert_workspace.h"

#include "kernels/gpu/call_plan.h"
#include "kernels/gpu/wide_rows.h"
#include "runtime/base/math.h"

namespace berth::kernels::gpu {
namespace {

class Layout {
 public:
  explicit Layout(std::byte* base) : base_(base) {}
  template <typename T>
  void Place(T** at, uint64_t count) {
    if (base_ != nullptr) *at = reinterpret_cast<T*>(base_ + bytes_);
    bytes_ = AlignUp(bytes_ + count * sizeof(T), kCardAlign);
  }
  void Place(ByteRows* rows, uint64_t count, uint32_t cols) {
    rows->stride = static_cast<uint32_t>(AlignUp(cols, 256));
    Place(&rows->q, count * rows->stride);
    Place(&rows->d, count * rows->stride / 32);
    Place(&rows->s, count * rows->stride / 32);
    Place(&rows->halves, count * rows->stride / 16);
  }
  void Place(WideRows* rows, uint64_t count, uint32_t cols) {
    rows->stride = static_cast<uint32_t>(AlignUp(cols, kWideColumns));
    Place(&rows->at, count * rows->stride);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::byte* base_;
  uint64_t bytes_ = 0;
};

}  // namespace

ExpertWorkspace::ExpertWorkspace(const ExpertSizes& sizes, std::byte* base) {
  Layout layout(base);
  layout.Place(&h_arrived, uint64_t{sizes.max_units} * CeilDiv(sizes.max_ffn, 32));
  layout.Place(&turns, 2);
  layout.Place(&call_turns, 3);
  layout.Place(&call_flags, kMostCallShares);
  layout.Place(&list.unit_count, 3);
  if (base != nullptr) {
    list.wide_count = list.unit_count + 1;
    list.all_work = list.unit_count + 2;
  }
  layout.Place(&list.units, sizes.max_units);
  layout.Place(&list.pairs, sizes.max_pairs);
  layout.Place(&x_bytes, sizes.max_rows, sizes.max_hidden);
  layout.Place(&h_bytes, sizes.max_pairs, sizes.max_ffn);
  layout.Place(&x_wide, sizes.max_rows, sizes.max_hidden);
  layout.Place(&h_wide, sizes.max_pairs, sizes.max_ffn);
  layout.Place(&h, uint64_t{sizes.max_pairs} * sizes.max_ffn);
  bytes = layout.bytes();
}

}  // namespace berth::kernels::gpu
