// What becomes of the sums of a wide job: siblings, then the activation and down's input, or
// partials. A warp has 8 rows of gate and the same 8 of up, or 16 of one matrix; lane 4 g + t has
// of rows g, and of eight pairs at a time pairs 2 t and 2 t + 1.
#ifndef BERTH_KERNELS_GPU_WIDE_STORE_H_
#define BERTH_KERNELS_GPU_WIDE_STORE_H_

#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/formats/card_bits.h"
#include "kernels/gpu/wide_plan.h"
#include "kernels/gpu/wide_rows.h"

namespace berth::kernels::gpu {

#if BERTH_HAS_MATRIX_UNITS
// 1 / (1 + e^-x) to a few parts in 10^6, which a value that is rounded to BF16 next does not need
// better; zero where it is below 2^-126. Infinities and what is no number as Logistic.
BERTH_CARD float FastLogistic(float x) {
  const float exponent = Mul(x, -0x1.715476p+0f);
#if defined(BERTH_ON_NVIDIA)
  float power, value;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(Add(1.0f, power)));
  return value;
#else
  return Div(1.0f, Add(1.0f, __builtin_exp2f(exponent)));
#endif
}

// sums[tile]: of pairs 8 tile + 2 t and the next, first of row g, then of its other.
template <uint32_t kTiles>
class WideStore {
 public:
  // `row`: the warp's first output; `lane`: Lane().
  BERTH_CARD_ONLY WideStore(const ProductArgs& a, const WideJob& job, uint32_t row, uint32_t lane)
      : a_(a), job_(job), row_(row + lane / 4), lane_(lane) {}

  // By whole warps.
  BERTH_CARD_ONLY void Store(float (&sums)[kTiles][4]) const {
    if (job_.weights == kNoWeightRows) return;
    const bool usual = !a_.down && a_.matrices == 2 && a_.activation == Activation::kSiluGate &&
                       !a_.weights_before && job_.count > a_.h_wide_over && a_.rows % 8 == 0;
    if (row_ >= a_.rows) return;
    const Siblings siblings = SiblingsOfRows();
    if (usual) {
      StoreUsualActivations(siblings, sums);
    } else if (a_.down) {
      StorePartials(siblings, sums);
    } else {
      StoreActivations(siblings, sums);
    }
  }

 private:
  // Of the lane's two weight rows: rows row_ of gate and of up, or row_ and row_ + 8 of one matrix.
  struct Siblings {
    float scales[2], biases[2];
  };
  BERTH_CARD_ONLY Siblings SiblingsOfRows() const {
    Siblings to;
    BERTH_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
      const bool second = a_.matrices == 2 && r == 1;
      const float* const scales = second ? a_.scale[1] : a_.scale[0];
      const float* const biases = second ? a_.bias[1] : a_.bias[0];
      const uint32_t row = a_.matrices == 2 ? row_ : row_ + 8 * r;
      to.scales[r] = scales == nullptr ? 1.0f : scales[job_.expert];
      to.biases[r] = biases == nullptr || row >= a_.rows
                         ? 0.0f
                         : biases[static_cast<size_t>(job_.expert) * a_.rows + row];
    }
    return to;
  }

  // SiLU gates, and down takes the unit wide, so that h becomes BF16: what is made of a sum needs
  // few instructions then, and of its place next to none. Lanes of an even row and the next swap,
  // so that a lane has both columns of one pair, which lie beside each other.
  BERTH_CARD_ONLY void StoreUsualActivations(const Siblings& to,
                                             const float (&sums)[kTiles][4]) const {
    const uint32_t odd = row_ % 2, pairs = job_.pairs;
    // Of its own word and of the other lane's: lower halves, or upper halves and the other's first.
    const uint32_t halves = odd == 0 ? 0x5410 : 0x3276;
    const size_t apart = size_t{8} * a_.h_wide.stride;
    uint32_t pair = lane_ % 4 * 2 + odd;
    uint16_t* at = a_.h_wide.at +
                   static_cast<size_t>(job_.first + job_.pair + pair) * a_.h_wide.stride +
                   WidePlace(row_ - odd);
    BERTH_UNROLL
    for (uint32_t tile = 0; tile < kTiles; ++tile, pair += 8, at += apart) {
      if (tile % 2 == 0 && 8 * tile >= pairs) break;
      float h[2];
      BERTH_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        const float gate = Fma(sums[tile][i], to.scales[0], to.biases[0]);
        const float up = Fma(sums[tile][2 + i], to.scales[1], to.biases[1]);
        h[i] = Mul(Mul(gate, FastLogistic(gate)), up);
      }
      const uint32_t own = Bfloat16Pair(h[0], h[1]);
      const uint32_t both = PermuteNibbles(own, LaneXor(own, 4), halves);
      if (pair < pairs) *reinterpret_cast<uint32_t*>(at) = both;
    }
    if (row_ + 1 != a_.rows || a_.rows % kWideColumns == 0) return;
    for (uint32_t i = lane_ % 4; i < pairs; i += 4) {
      ClearBehind(a_.h_wide, job_.first + job_.pair + i, a_.rows);
    }
  }

  BERTH_CARD_ONLY void StorePartials(const Siblings& to, const float (&sums)[kTiles][4]) const {
    const uint32_t pairs = job_.pairs, of_other = row_ + 8 < a_.rows ? pairs : 0;
    float* const rows = a_.partials + row_;
    const uint32_t* const numbers = job_.numbers + lane_ % 4 * 2;
    uint32_t pair = lane_ % 4 * 2;
    BERTH_UNROLL
    for (uint32_t tile = 0; tile < kTiles; ++tile, pair += 8) {
      if (tile % 2 == 0 && 8 * tile >= pairs) break;
      BERTH_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        // Behind the last pair there is one, too.
        float* const at = rows + static_cast<size_t>(numbers[8 * tile + i]) * a_.rows;
        const float first = ApplySiblings(sums[tile][i], 1.0f, to.scales[0], to.biases[0]);
        const float second = ApplySiblings(sums[tile][2 + i], 1.0f, to.scales[1], to.biases[1]);
        if (pair + i < pairs) at[0] = first;
        if (pair + i < of_other) at[8] = second;
      }
    }
  }

  // Any others, one by one, by way of memory: registers that this took besides those of sums would
  // be lacking in the loop of products.
  BERTH_CARD_ONLY void StoreActivations(const Siblings& to, const float (&sums)[kTiles][4]) const {
    float values[kTiles][4];
    BERTH_UNROLL
    for (uint32_t tile = 0; tile < kTiles; ++tile) {
      BERTH_UNROLL
      for (uint32_t i = 0; i < 4; ++i) values[tile][i] = sums[tile][i];
    }
    const uint32_t first = lane_ % 4 * 2;
    BERTH_NO_UNROLL
    for (uint32_t i = 0; i < 2 * kTiles; ++i) {
      const uint32_t n = first + i / 2 * 8 + i % 2;
      if (n >= job_.pairs) return;
      StoreActivation(to, n, values[i / 2][i % 2], values[i / 2][2 + i % 2]);
    }
  }
  // Of pair n of the job's, in both rows; without gates these are of the same matrix.
  BERTH_CARD_ONLY void StoreActivation(const Siblings& to, uint32_t n, float one,
                                       float other) const {
    const float weight = a_.weights_before ? a_.weights[job_.numbers[n]] : 1.0f;
    const float first = ApplySiblings(one, weight, to.scales[0], to.biases[0]);
    const float second = ApplySiblings(other, weight, to.scales[1], to.biases[1]);
    const bool gated = a_.matrices == 2, wide = job_.count > a_.h_wide_over;
    float up = gated ? second : first;
    BERTH_NO_UNROLL
    for (uint32_t row = row_; row < a_.rows; row += 8) {
      const float h = Activate(a_.activation, a_.alpha, a_.limit, first, up);
      StoreHiddenValue(a_, job_.first + job_.pair + n, row, h, wide);
      if (gated || row != row_) return;
      up = second;
    }
  }

  const ProductArgs& a_;
  const WideJob& job_;
  const uint32_t row_, lane_;
};
#endif

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_STORE_H_
