// AVX2: element-wise steps, float weights, and every quantized format by way of its plain code.
#include "kernels/exact/any_dot.h"
#include "kernels/exact/avx2_frame.h"
#include "kernels/exact/elementwise.h"
#include "kernels/exact/kernel_sets.h"

namespace berth::kernels {
namespace {

template <Minima kMinimaOf, bool kHasTwoScales>
struct Any {
  static constexpr uint32_t kElements = 32;  // the least: there may be a tail
  static constexpr Minima kMinima = kMinimaOf;
  static constexpr bool kTwoScales = kHasTwoScales;
  struct Group {
    WeightGroup weights;
    __m256 d, d_high, minimum, minimum_high;
  };

  static void Split(Group* group) {
    const __m256 first = _mm256_load_ps(group->weights.d);
    const __m256 second = _mm256_load_ps(group->weights.d + 8);
    // Even ones are those of the first halves.
    const __m256i order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    group->d = _mm256_permutevar8x32_ps(_mm256_shuffle_ps(first, second, 0x88), order);
    group->d_high = _mm256_permutevar8x32_ps(_mm256_shuffle_ps(first, second, 0xdd), order);
    if (kMinima == Minima::kNone) return;
    SplitMinima(group->weights, &group->minimum, &group->minimum_high);
  }

  static Halves Products(const Group& group, const int8_t* q) {
    __m256i block[8];
    for (int b = 0; b < 8; ++b) {
      block[b] = DotSigned(Load256(group.weights.q + 32 * b), Load256(q + 32 * b));
    }
    return Multiply(SumHalves(block), ToHalves(Load256(group.weights.scale)));
  }
  static __m256i Integers(const Group& group, const int8_t* q, const int16_t*) {
    const Halves products = Products(group, q);
    if (!kTwoScales) return SumBlocks(products);
    return _mm256_permute2x128_si256(products.blocks03, products.blocks47, 0x20);
  }
  static __m256i HighIntegers(const Group& group, const int8_t* q, const int16_t*) {
    const Halves products = Products(group, q);
    return _mm256_permute2x128_si256(products.blocks03, products.blocks47, 0x31);
  }
};

template <bool kBf16>
inline __m256 LoadWeights(const uint8_t* from) {
  const __m128i bits = Load128(from);
  if (!kBf16) return _mm256_cvtph_ps(bits);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

// Eight rows of eight floats, rows and columns exchanged.
inline void Transpose(__m256 (&v)[8]) {
  __m256 pairs[8], fours[8];
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    fours[4 * i] = _mm256_shuffle_ps(pairs[4 * i], pairs[4 * i + 2], 0x44);
    fours[4 * i + 1] = _mm256_shuffle_ps(pairs[4 * i], pairs[4 * i + 2], 0xee);
    fours[4 * i + 2] = _mm256_shuffle_ps(pairs[4 * i + 1], pairs[4 * i + 3], 0x44);
    fours[4 * i + 3] = _mm256_shuffle_ps(pairs[4 * i + 1], pairs[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    v[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

// 256 columns: lane b walks through block b, in order.
template <bool kBf16>
inline void AddFloats(const uint8_t* from, const ActivationRow* rows, uint32_t row_count,
                      uint32_t col, __m256* sums) {
  for (uint32_t step = 0; step < 32; step += 8) {
    __m256 weights[8];
    for (int b = 0; b < 8; ++b) weights[b] = LoadWeights<kBf16>(from + 2 * (32 * b + step));
    Transpose(weights);
    for (uint32_t r = 0; r < row_count; ++r) {
      __m256 x[8];
      for (int b = 0; b < 8; ++b) x[b] = _mm256_loadu_ps(rows[r].x + col + 32 * b + step);
      Transpose(x);
      for (int i = 0; i < 8; ++i) sums[r] = _mm256_fmadd_ps(weights[i], x[i], sums[r]);
    }
  }
}

// What is left of a row, value by value: its lanes end in different places.
template <bool kBf16>
inline void AddFloatTail(const uint8_t* from, const float* x, uint32_t count, float* lanes) {
  for (uint32_t i = 0; i < count; ++i) {
    uint16_t bits;
    memcpy(&bits, from + 2 * i, sizeof(bits));
    const float weight = kBf16 ? FromBits(static_cast<uint32_t>(bits) << 16) : _cvtsh_ss(bits);
    lanes[i / 32] = __builtin_fmaf(weight, x[i], lanes[i / 32]);
  }
}

template <bool kBf16>
void DotFloats(const DotCall& call) {
  for (uint32_t w = 0; w < call.weight_rows; ++w) {
    const uint8_t* const from = Bytes(call.weights) + w * call.row_bytes;
    __m256 sums[kMaxDotRows];
    for (__m256& sum : sums) sum = _mm256_setzero_ps();
    uint32_t col = 0;
    for (; col + 256 <= call.cols; col += 256) {
      AddFloats<kBf16>(from + 2 * col, call.rows, call.row_count, col, sums);
    }
    for (uint32_t r = 0; r < call.row_count; ++r) {
      if (col < call.cols) {
        float lanes[8];
        _mm256_storeu_ps(lanes, sums[r]);
        AddFloatTail<kBf16>(from + 2 * col, call.rows[r].x + col, call.cols - col, lanes);
        sums[r] = _mm256_loadu_ps(lanes);
      }
      call.out[r * call.out_stride + w] = Total(sums[r]);
    }
  }
}

}  // namespace

DotKernel Avx2AnyDot(TensorType type) {
  if (type == TensorType::kF16) return &DotFloats<false>;
  if (type == TensorType::kBF16) return &DotFloats<true>;
  return &DotAnyKind<Any>;
}

bool Avx2Quantize(const float* x, uint32_t cols, int8_t* q, float* d, int16_t* sums, float* s) {
  return QuantizeAll(x, cols, q, d, sums, s);
}
void Avx2Activate(const ExpertConventions& conventions, const float* gate, const float* up,
                  uint32_t count, float* to) {
  ActivateAll(conventions, gate, up, count, to);
}

}  // namespace berth::kernels
