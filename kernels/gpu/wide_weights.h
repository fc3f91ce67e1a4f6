// Weights in BF16 for the matrix instructions (docs/arithmetic.md, "Wide").
#ifndef BERTH_KERNELS_GPU_WIDE_WEIGHTS_H_
#define BERTH_KERNELS_GPU_WIDE_WEIGHTS_H_

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/row_sums.h"

namespace berth::kernels::gpu {

struct CardQ8_0;
struct CardIq4_Nl;
struct CardIq4_Xs;
struct CardMxfp4;
struct CardIq3_S;

// Weights beyond -64 to 63.
template <typename F>
inline constexpr bool kEightBits = false;
template <>
inline constexpr bool kEightBits<CardQ8_0> = true;
template <>
inline constexpr bool kEightBits<CardIq4_Nl> = true;
template <>
inline constexpr bool kEightBits<CardIq4_Xs> = true;

// Formats of 16 levels, low nibbles first: a table of what the two nibbles of a byte stand for.
template <typename F>
struct WideLevels {
  static constexpr uint32_t kTableWords = 0;
};
template <typename Of>
struct WideLevelsOf {
  static constexpr uint32_t kTableWords = 256;
  BERTH_CARD static uint32_t TableWord(uint32_t i) {
    const uint32_t levels = Of::TableWord(i);
    return Bfloat16Pair(static_cast<float>(static_cast<int8_t>(levels & 0xff)),
                        static_cast<float>(static_cast<int8_t>(levels >> 16 & 0xff)));
  }
};
// Where the nibbles of 32 weights lie in a block.
template <>
struct WideLevels<CardIq4_Nl> : WideLevelsOf<LevelsIq4> {
  BERTH_CARD static constexpr uint32_t Offset(uint32_t) { return 2; }
};
template <>
struct WideLevels<CardIq4_Xs> : WideLevelsOf<LevelsIq4> {
  BERTH_CARD static constexpr uint32_t Offset(uint32_t sub) { return 8 + 16 * sub; }
};
template <>
struct WideLevels<CardMxfp4> : WideLevelsOf<LevelsFloat4> {
  BERTH_CARD static constexpr uint32_t Offset(uint32_t) { return 1; }
};
template <typename F>
inline constexpr bool kHasWideLevels = WideLevels<F>::kTableWords != 0;
inline constexpr uint32_t kWideLevelCopies = 32;  // lanes never meet in a bank

// Formats of points of four odd magnitudes, and signs: a table of the points, two words each. It
// takes the place of the decoder's own, whose words have the magnitudes as bytes.
template <typename F>
inline constexpr bool kHasWidePoints = false;
template <>
inline constexpr bool kHasWidePoints<CardIq3_S> = true;
inline constexpr uint32_t kWidePointWords = 16;  // of a point: 8 copies
template <typename F>
inline constexpr uint32_t kWidePointTableWords =
    kHasWidePoints<F> ? F::kTableWords* kWidePointWords : 0;

// The whole block calls it, and synchronizes then.
template <typename F>
BERTH_CARD_ONLY void FillWidePoints(uint32_t* to, uint32_t thread, uint32_t threads) {
  constexpr uint32_t kParts = kWidePointWords / 4;
  for (uint32_t i = thread; i < F::kTableWords * kParts; i += threads) {
    const uint32_t point = F::TableWord(i / kParts);
    const auto level = [point](uint32_t j) { return static_cast<float>(point >> (8 * j) & 0xff); };
    const uint32_t low = Bfloat16Pair(level(0), level(1)), high = Bfloat16Pair(level(2), level(3));
    reinterpret_cast<FourWords*>(to)[i] = {{low, high, low, high}};
  }
}
// Of the lane.
BERTH_CARD_ONLY CardTable WidePointsOfLane(const uint32_t* table, uint32_t lane) {
  CardTable points;
  points.at = table + lane % (kWidePointWords / 2) * 2;
  points.copies = kWidePointWords;
  return points;
}
// Point number half kHalf of `numbers`.
template <uint32_t kHalf>
BERTH_CARD_ONLY TwoWords WidePoint(const CardTable& points, uint32_t numbers) {
#if defined(BERTH_ON_NVIDIA)
  const uint32_t address = __dp2a_lo(numbers, (4 * kWidePointWords) << (8 * kHalf),
                                     static_cast<uint32_t>(__cvta_generic_to_shared(points.at)));
  return *static_cast<const TwoWords*>(__cvta_shared_to_generic(address));
#else
  const uint32_t* const at = points.at + (numbers >> (16 * kHalf) & 0xffff) * kWidePointWords;
  return {{at[0], at[1]}};
#endif
}

// Turns the words of a decoder into BF16, for a block of 32 weights. No conversion of integers,
// which is slow: bytes are put into the bits of numbers whose last place is 1.
template <typename F>
class WideWeights {
 public:
  WideWeights() = default;
  // Whatever the words are: zero.
  BERTH_CARD void Clear() {
    BERTH_UNROLL
    for (uint32_t i = 0; i < kParts; ++i) {
      scale_[i] = offset_[i] = 0.0f;
      pair_[i] = 0;
    }
  }
  BERTH_CARD explicit WideWeights(const BlockScales& scales) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < kParts; ++i) {
      float s = scales.d[F::kKind.two_scales ? i : 0];
      if constexpr (F::kKind.scales) {
        s = Mul(s, static_cast<float>(scales.scale[F::kKind.halves ? i : 0]));
      }
      if constexpr (F::kKind.minima) {
        scale_[i] = s;
        offset_[i] = Fma(-128.0f, s, -scales.minimum[F::kKind.halves ? i : 0]);
      } else {
        pair_[i] = Bfloat16Pair(s, s);
        if constexpr (kEightBits<F>) {
          scale_[i] = Bfloat16ToFloat(pair_[i] & 0xffff);
          offset_[i] = Mul(-32896.0f, scale_[i]);  // exact: 9 bits times 8
        }
      }
    }
  }

  // Word kWord: weights 4 kWord and the next, and the two after them.
  template <uint32_t kWord>
  BERTH_CARD void Convert(uint32_t word, uint32_t* first, uint32_t* second) const {
    constexpr uint32_t kPart = kParts == 2 ? kWord / 4 : 0;
    if constexpr (F::kKind.minima) {
      // 128 + q.
      *first = Rounded<kPart>(Bytes<4, 4, 0, 5>(word, 0x4300), Bytes<4, 4, 1, 5>(word, 0x4300));
      *second = Rounded<kPart>(Bytes<4, 4, 2, 5>(word, 0x4300), Bytes<4, 4, 3, 5>(word, 0x4300));
    } else if constexpr (kEightBits<F>) {
      // 32768 + (w + 128).
      const uint32_t w = word ^ kTops;
      *first = Rounded<kPart>(Bytes<4, 0, 4, 5>(w, 0x4700), Bytes<4, 1, 4, 5>(w, 0x4700));
      *second = Rounded<kPart>(Bytes<4, 2, 4, 5>(w, 0x4700), Bytes<4, 3, 4, 5>(w, 0x4700));
    } else {
      // 128 + (w + 64), as BF16.
      const uint32_t w = (word & ~kTops) ^ (64 * kOnes);
      *first = Product<kPart>(Bytes<0, 4, 1, 4>(w, 0x43));
      *second = Product<kPart>(Bytes<2, 4, 3, 4>(w, 0x43));
    }
  }

 private:
  static constexpr uint32_t kParts = F::kKind.halves || F::kKind.two_scales ? 2 : 1;

  template <uint32_t kPart>
  BERTH_CARD uint32_t Rounded(uint32_t low, uint32_t high) const {
    return Bfloat16Pair(Fma(FloatOf(low), scale_[kPart], offset_[kPart]),
                        Fma(FloatOf(high), scale_[kPart], offset_[kPart]));
  }
  template <uint32_t kPart>
  BERTH_CARD uint32_t Product(uint32_t raised) const {
    return MulBfloat16Pairs(Less192Bfloat16Pair(raised), pair_[kPart]);
  }

  float scale_[kParts], offset_[kParts];
  uint32_t pair_[kParts];
};

// A lane's 32 weights of a row, as operands of the matrix instruction, eight at a time: weights 0
// and 1, 2 and 3 and so on of these eight.
enum class WideWay : uint8_t { kWords, kLevels, kPoints };
template <typename F>
inline constexpr WideWay kWideWay = kHasWideLevels<F>   ? WideWay::kLevels
                                    : kHasWidePoints<F> ? WideWay::kPoints
                                                        : WideWay::kWords;
template <typename F, WideWay kWay = kWideWay<F>>
class WideBlockOf {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable& table) {
    BlockScales scales;
    F::template Words<kHow>(at, sub, table, words_);
    F::template Scales<kHow>(at, sub, &scales);
    weights_ = WideWeights<F>(scales);
  }
  BERTH_CARD void Clear() { weights_.Clear(); }
  // kQuarter 0 to 3, each once, in ascending order.
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const CardTable&, uint32_t (&to)[4]) {
    weights_.template Convert<2 * kQuarter>(words_[2 * kQuarter], to, to + 1);
    weights_.template Convert<2 * kQuarter + 1>(words_[2 * kQuarter + 1], to + 2, to + 3);
  }

 private:
  uint32_t words_[8];
  WideWeights<F> weights_;
};

// By the table of levels. The table gives a weight of the first half with one of the second, which
// is kept until its turn.
template <typename F>
class WideBlockOf<F, WideWay::kLevels> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable&) {
    LoadNibbles<kHow>(at, sub);
    BlockScales scales;
    F::template Scales<kHow>(at, sub, &scales);
    float s = scales.d[0];
    if constexpr (F::kKind.scales) s = Mul(s, static_cast<float>(scales.scale[0]));
    scale_ = Bfloat16Pair(s, s);
  }
  BERTH_CARD void Clear() { scale_ = 0; }
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const CardTable& levels, uint32_t (&to)[4]) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      if constexpr (kQuarter >= 2) {
        to[2 * i] = later_[4 * (kQuarter - 2) + 2 * i];
        to[2 * i + 1] = later_[4 * (kQuarter - 2) + 2 * i + 1];
      } else {
        const uint32_t q = q_[2 * kQuarter + i];
        const uint32_t both[4] = {levels.OfByte<0>(q), levels.OfByte<1>(q), levels.OfByte<2>(q),
                                  levels.OfByte<3>(q)};
        BERTH_UNROLL
        for (uint32_t h = 0; h < 2; ++h) {
          const uint32_t low = both[2 * h], high = both[2 * h + 1];
          to[2 * i + h] = MulBfloat16Pairs(Bytes<0, 1, 4, 5>(low, high), scale_);
          later_[4 * kQuarter + 2 * i + h] = MulBfloat16Pairs(Bytes<2, 3, 6, 7>(low, high), scale_);
        }
      }
    }
  }

 private:
  template <Reading kHow>
  BERTH_CARD void LoadNibbles(const uint8_t* at, uint32_t sub) {
    // Multiples of 4 from the first one on.
    constexpr uint32_t kOffset = WideLevels<F>::Offset(0);
    LoadWords<kHow, kOffset>(at, WideLevels<F>::Offset(sub) - kOffset, q_);
  }

  uint32_t q_[4];
  uint32_t later_[8];
  uint32_t scale_;
};

// By the table of points, IQ3_S.
template <typename F>
class WideBlockOf<F, WideWay::kPoints> {
 public:
  template <Reading kHow>
  BERTH_CARD_ONLY void Load(const uint8_t* at, uint32_t sub, const CardTable&) {
    LoadWords<kHow, 2>(at, 8 * sub, q_);
    ninths_ = at[66 + sub];
    signs_ = LoadWord<kHow, 74>(at, 4 * sub);
    BlockScales scales;
    F::template Scales<kHow>(at, sub, &scales);
    const float s = Mul(scales.d[0], static_cast<float>(scales.scale[0]));
    scale_ = Bfloat16Pair(s, s);
  }
  BERTH_CARD_ONLY void Clear() { scale_ = 0; }
  template <uint32_t kQuarter>
  BERTH_CARD_ONLY void Take(const CardTable& points, uint32_t (&to)[4]) {
    constexpr uint32_t kByte = 2 * (kQuarter % 2), kBit = 2 * kQuarter;
    // The ninth bits of two numbers at bits 8 and 24.
    const uint32_t ninths = (ninths_ * (1u << (8 - kBit) | 1u << (23 - kBit))) & 0x01000100;
    const uint32_t numbers = Bytes<kByte, 4, kByte + 1, 4>(q_[kQuarter / 2], 0) | ninths;
    const TwoWords first = WidePoint<0>(points, numbers);
    const TwoWords second = WidePoint<1>(points, numbers);
    const uint32_t signs = Bytes<kQuarter, 4, 4, 4>(signs_, 0);
    to[0] = MulBfloat16Pairs(Signed<0>(first.words[0], signs), scale_);
    to[1] = MulBfloat16Pairs(Signed<2>(first.words[1], signs), scale_);
    to[2] = MulBfloat16Pairs(Signed<4>(second.words[0], signs), scale_);
    to[3] = MulBfloat16Pairs(Signed<6>(second.words[1], signs), scale_);
  }

 private:
  // With bits kBit and kBit + 1 of eight as signs: a multiplication brings them to the tops.
  template <uint32_t kBit>
  BERTH_CARD static uint32_t Signed(uint32_t magnitudes, uint32_t signs) {
    return magnitudes ^ (signs * (1u << (15 - kBit) | 1u << (30 - kBit)) & kTopsOfPair);
  }
  static constexpr uint32_t kTopsOfPair = 0x80008000;

  uint32_t q_[2];
  uint32_t ninths_, signs_, scale_;
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_WEIGHTS_H_
