// Weights in BF16 for the matrix instructions (docs/arithmetic.md, "Wide").
//
// A lane's 32 weights of a row become operands of the matrix instruction eight at a time: weights 0
// and 1, 2 and 3 and so on of these eight, two to a register. No conversion of integers, which is
// slow: they are looked up as BF16, or their bits are put into those of numbers whose last place
// is 1.
#ifndef BERTH_KERNELS_GPU_WIDE_WEIGHTS_H_
#define BERTH_KERNELS_GPU_WIDE_WEIGHTS_H_

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_iq2.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/wide_tables.h"

namespace berth::kernels::gpu {

struct CardIq2_S;
struct CardIq2_Xs;
struct CardQ2_K;
struct CardQ3_K;
struct CardQ4_0;
struct CardQ4_K;
struct CardQ5_K;
struct CardQ6_K;
struct CardQ8_0;

enum class WideWay : uint8_t {
  kLevels,      // numbers of 16 levels, two to a lookup
  kPoints,      // points of four weights with their signs, by a byte
  kMagnitudes,  // points of four magnitudes, and signs
  kSelected,    // bytes of BF16, selected by small numbers
  kRaised,      // integers without a sign that are too large by kRaisedBy<F>
  kBytes,       // signed integers of eight bits
  kMinima,      // integers below 128 without a sign, and minima
  kFew,         // two bits and minima: four values in all
};
template <typename F>
inline constexpr WideWay kWideWay = WideWay::kMinima;
template <>
inline constexpr WideWay kWideWay<CardIq4_Nl> = WideWay::kLevels;
template <>
inline constexpr WideWay kWideWay<CardIq4_Xs> = WideWay::kLevels;
template <>
inline constexpr WideWay kWideWay<CardMxfp4> = WideWay::kLevels;
template <>
inline constexpr WideWay kWideWay<CardNvfp4> = WideWay::kLevels;
template <>
inline constexpr WideWay kWideWay<CardQ2_0> = WideWay::kPoints;
template <>
inline constexpr WideWay kWideWay<CardIq3_S> = WideWay::kMagnitudes;
template <>
inline constexpr WideWay kWideWay<CardIq3_Xxs> = WideWay::kMagnitudes;
template <>
inline constexpr WideWay kWideWay<CardIq2_Xxs> = WideWay::kSelected;
template <>
inline constexpr WideWay kWideWay<CardIq2_Xs> = WideWay::kSelected;
template <>
inline constexpr WideWay kWideWay<CardIq2_S> = WideWay::kSelected;
template <>
inline constexpr WideWay kWideWay<CardQ4_0> = WideWay::kRaised;
template <>
inline constexpr WideWay kWideWay<CardQ3_K> = WideWay::kRaised;
template <>
inline constexpr WideWay kWideWay<CardQ6_K> = WideWay::kRaised;
template <>
inline constexpr WideWay kWideWay<CardQ8_0> = WideWay::kBytes;
template <>
inline constexpr WideWay kWideWay<CardQ2_K> = WideWay::kFew;

// Scales of halves of 16.
template <typename F>
inline constexpr uint32_t kWideParts = F::kKind.halves || F::kKind.two_scales ? 2 : 1;
// Of part i, in F32.
template <typename F>
BERTH_CARD float WideScale(const BlockScales& scales, uint32_t i) {
  const float d = scales.d[F::kKind.two_scales ? i : 0];
  if constexpr (!F::kKind.scales) return d;
  return Mul(d, static_cast<float>(scales.scale[F::kKind.halves ? i : 0]));
}

// Formats without minima: BF16 scales, by which weights in BF16 are multiplied.
template <typename F>
class WideScales {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub) {
    BlockScales scales;
    F::template Scales<kHow>(at, sub, &scales);
    BERTH_UNROLL
    for (uint32_t i = 0; i < kWideParts<F>; ++i) {
      const float s = WideScale<F>(scales, i);
      pairs_[i] = Bfloat16Pair(s, s);
    }
  }
  // Whatever the weights are: zero.
  BERTH_CARD void Clear() {
    BERTH_UNROLL
    for (uint32_t i = 0; i < kWideParts<F>; ++i) pairs_[i] = 0;
  }
  template <uint32_t kQuarter>
  BERTH_CARD uint32_t Of() const {
    return pairs_[kWideParts<F> == 2 ? kQuarter / 2 : 0];
  }

 private:
  uint32_t pairs_[kWideParts<F>];
};

template <typename F, WideWay kWay = kWideWay<F>>
class WideBlockOf;

// Where the nibbles of 32 weights lie in a block: 16 bytes, of which so many in a row hold twice as
// many weights, those of low nibbles in front.
template <typename F>
struct WideNibbles {
  static constexpr uint32_t kAt = 2, kStretch = 16;
};
template <>
struct WideNibbles<CardIq4_Xs> {
  static constexpr uint32_t kAt = 8, kStretch = 16;
};
template <>
struct WideNibbles<CardMxfp4> {
  static constexpr uint32_t kAt = 1, kStretch = 16;
};
template <>
struct WideNibbles<CardNvfp4> {
  static constexpr uint32_t kAt = 4, kStretch = 8;
};

template <typename F>
class WideBlockOf<F, WideWay::kLevels> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable&) {
    LoadWords<kHow, WideNibbles<F>::kAt>(at, 16 * sub, q_);
    scales_.template Load<kHow>(at, sub);
  }
  BERTH_CARD void Clear() { scales_.Clear(); }
  // kQuarter 0 to 3.
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups& lookups, uint32_t (&to)[4]) const {
    constexpr uint32_t kWords = WideNibbles<F>::kStretch / 4;
    constexpr uint32_t kFirst = 2 * kQuarter % kWords + 2 * kQuarter / (2 * kWords) * kWords;
    constexpr bool kHigh = 2 * kQuarter / kWords % 2 != 0;
    const uint32_t scale = scales_.template Of<kQuarter>();
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t q = q_[kFirst + i];
      const uint32_t numbers = q & (kHigh ? kLowNibbles << 4 : kLowNibbles);
      constexpr uint32_t kTimes = kHigh ? 16 : 1;
      to[2 * i] = MulBfloat16Pairs(WideLevelsOfBytes<0, kTimes>(lookups.points, numbers), scale);
      to[2 * i + 1] =
          MulBfloat16Pairs(WideLevelsOfBytes<1, kTimes>(lookups.points, numbers), scale);
    }
  }

 private:
  uint32_t q_[4];
  WideScales<F> scales_;
};

// Q2_0.
template <typename F>
class WideBlockOf<F, WideWay::kPoints> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable&) {
    LoadWords<kHow, 2>(at, 8 * sub, q_);
    scales_.template Load<kHow>(at, sub);
  }
  BERTH_CARD void Clear() { scales_.Clear(); }
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups& lookups, uint32_t (&to)[4]) const {
    constexpr uint32_t kByte = 2 * (kQuarter % 2);
    const TwoWords first = WidePointOfByte<kByte>(lookups.points, q_[kQuarter / 2]);
    const TwoWords second = WidePointOfByte<kByte + 1>(lookups.points, q_[kQuarter / 2]);
    const uint32_t scale = scales_.template Of<kQuarter>();
    to[0] = MulBfloat16Pairs(first.words[0], scale);
    to[1] = MulBfloat16Pairs(first.words[1], scale);
    to[2] = MulBfloat16Pairs(second.words[0], scale);
    to[3] = MulBfloat16Pairs(second.words[1], scale);
  }

 private:
  uint32_t q_[2];
  WideScales<F> scales_;
};

inline constexpr uint32_t kTopsOfPair = 0x80008000;

// Two lattices of four magnitudes a point: IQ3_S, whose numbers have a ninth bit and whose signs
// are all stored, and IQ3_XXS.
template <typename F>
class WideBlockOf<F, WideWay::kMagnitudes> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable&) {
    LoadWords<kHow, 2>(at, 8 * sub, q_);
    if constexpr (kHasWideSigns<F>) {
      signs_ = SpreadSevens(LoadWord<kHow, 66>(at, 4 * sub));
    } else {
      ninths_ = at[66 + sub];
      signs_ = LoadWord<kHow, 74>(at, 4 * sub);
    }
    scales_.template Load<kHow>(at, sub);
  }
  BERTH_CARD void Clear() { scales_.Clear(); }
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups& lookups, uint32_t (&to)[4]) const {
    constexpr uint32_t kByte = 2 * (kQuarter % 2), kBit = 2 * kQuarter;
    const uint32_t q = q_[kQuarter / 2];
    TwoWords first, second;
    uint32_t signs;
    if constexpr (kHasWideSigns<F>) {
      first = WidePointOfByte<kByte>(lookups.points, q);
      second = WidePointOfByte<kByte + 1>(lookups.points, q);
      signs = lookups.signs.template OfByte<kQuarter>(signs_);
    } else {
      // The ninth bits of two numbers at bits 8 and 24.
      const uint32_t ninths = (ninths_ * (1u << (8 - kBit) | 1u << (23 - kBit))) & 0x01000100;
      const uint32_t numbers = Bytes<kByte, 4, kByte + 1, 4>(q, 0) | ninths;
      first = WidePointOfHalf<0>(lookups.points, numbers);
      second = WidePointOfHalf<1>(lookups.points, numbers);
      signs = Bytes<kQuarter, 4, 4, 4>(signs_, 0);
    }
    const uint32_t scale = scales_.template Of<kQuarter>();
    to[0] = MulBfloat16Pairs(Signed<0>(first.words[0], signs), scale);
    to[1] = MulBfloat16Pairs(Signed<1>(first.words[1], signs), scale);
    to[2] = MulBfloat16Pairs(Signed<2>(second.words[0], signs), scale);
    to[3] = MulBfloat16Pairs(Signed<3>(second.words[1], signs), scale);
  }

 private:
  // Pair kPair of the four, with its signs at the tops: the table has them so but for a shift; of
  // a byte, a multiplication brings bits 2 kPair and 2 kPair + 1 there.
  template <uint32_t kPair>
  BERTH_CARD static uint32_t Signed(uint32_t magnitudes, uint32_t signs) {
    constexpr uint32_t kFactor =
        kHasWideSigns<F> ? 1u << kPair : 1u << (15 - 2 * kPair) | 1u << (30 - 2 * kPair);
    return magnitudes ^ (signs * kFactor & kTopsOfPair);
  }

  uint32_t q_[2];
  uint32_t ninths_, signs_;
  WideScales<F> scales_;
};

// Six levels, by eight numbers in a word (PointIq2).
template <typename F>
class WideBlockOf<F, WideWay::kSelected> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable& table) {
    F::template Numbers<kHow>(at, sub, table, numbers_);
    scales_.template Load<kHow>(at, sub);
  }
  BERTH_CARD void Clear() { scales_.Clear(); }
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups&, uint32_t (&to)[4]) const {
    // 8, 25 and 43 are 0x4100, 0x41c8 and 0x422c.
    const Selected low = Select(0x002cc800, 0x002cc800, numbers_[kQuarter]);
    const Selected high = Select(0x00424141, 0x00c2c1c1, numbers_[kQuarter]);
    const uint32_t scale = scales_.template Of<kQuarter>();
    to[0] = MulBfloat16Pairs(Bytes<0, 4, 1, 5>(low.first, high.first), scale);
    to[1] = MulBfloat16Pairs(Bytes<2, 6, 3, 7>(low.first, high.first), scale);
    to[2] = MulBfloat16Pairs(Bytes<0, 4, 1, 5>(low.second, high.second), scale);
    to[3] = MulBfloat16Pairs(Bytes<2, 6, 3, 7>(low.second, high.second), scale);
  }

 private:
  uint32_t numbers_[4];
  WideScales<F> scales_;
};

// Integers below 64.
template <typename F>
class WideBlockOf<F, WideWay::kRaised> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable&) {
    F::template Raised<kHow>(at, sub, words_);
    scales_.template Load<kHow>(at, sub);
  }
  BERTH_CARD void Clear() { scales_.Clear(); }
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups&, uint32_t (&to)[4]) const {
    const uint32_t scale = scales_.template Of<kQuarter>();
    // 128 more, as BF16.
    constexpr float kMore = 128.0f + F::kRaisedBy;
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t word = words_[2 * kQuarter + i];
      to[2 * i] = MulBfloat16Pairs(LessBfloat16Pair(Bytes<0, 4, 1, 4>(word, 0x43), kMore), scale);
      to[2 * i + 1] =
          MulBfloat16Pairs(LessBfloat16Pair(Bytes<2, 4, 3, 4>(word, 0x43), kMore), scale);
    }
  }

 private:
  uint32_t words_[8];
  WideScales<F> scales_;
};

// Q8_0. The products are exact in F32, 8 bits times 8, and so is what is taken off.
template <typename F>
class WideBlockOf<F, WideWay::kBytes> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable& table) {
    F::template Words<kHow>(at, sub, table, words_);
    WideScales<F> scales;
    scales.template Load<kHow>(at, sub);
    scale_ = Bfloat16ToFloat(scales.template Of<0>() & 0xffff);
    offset_ = Mul(-kBase, scale_);
  }
  BERTH_CARD void Clear() { scale_ = offset_ = 0.0f; }
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups&, uint32_t (&to)[4]) const {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t word = words_[2 * kQuarter + i];
      to[2 * i] = Bfloat16Pair(Product<0>(word), Product<1>(word));
      to[2 * i + 1] = Bfloat16Pair(Product<2>(word), Product<3>(word));
    }
  }

 private:
  // Whose last place is 1/64.
  static constexpr float kBase = 196608.0f;
  // An integer dot product adds byte kByte, shifted by six bits, to the bits of kBase.
  template <uint32_t kByte>
  BERTH_CARD float Product(uint32_t word) const {
    const int32_t sum = ByteDot(word, 64u << (8 * kByte), 0x48400000);
    return Fma(FloatOf(static_cast<uint32_t>(sum)), scale_, offset_);
  }

  uint32_t words_[8];
  float scale_, offset_;
};

// F32 scales, and 128 times them and the minimum taken off, of both halves or of all.
template <typename F>
class WideMinima {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub) {
    BlockScales scales;
    F::template Scales<kHow>(at, sub, &scales);
    BERTH_UNROLL
    for (uint32_t i = 0; i < kWideParts<F>; ++i) {
      scale_[i] = WideScale<F>(scales, i);
      offset_[i] = Fma(-128.0f, scale_[i], -scales.minimum[F::kKind.halves ? i : 0]);
    }
  }
  // Of 128 + a weight.
  BERTH_CARD float Of(float raised, uint32_t part) const {
    return Fma(raised, scale_[part], offset_[part]);
  }

 private:
  float scale_[kWideParts<F>], offset_[kWideParts<F>];
};

// Q4_K and Q5_K.
template <typename F>
class WideBlockOf<F, WideWay::kMinima> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable& table) {
    F::template Words<kHow>(at, sub, table, words_);
    minima_.template Load<kHow>(at, sub);
  }
  BERTH_CARD void Clear() {}  // rows are whole blocks of 256
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups&, uint32_t (&to)[4]) const {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t word = words_[2 * kQuarter + i];
      to[2 * i] = Bfloat16Pair(Value(Bytes<4, 4, 0, 5>(word, 0x4300)),
                               Value(Bytes<4, 4, 1, 5>(word, 0x4300)));
      to[2 * i + 1] = Bfloat16Pair(Value(Bytes<4, 4, 2, 5>(word, 0x4300)),
                                   Value(Bytes<4, 4, 3, 5>(word, 0x4300)));
    }
  }

 private:
  BERTH_CARD float Value(uint32_t raised) const { return minima_.Of(FloatOf(raised), 0); }

  uint32_t words_[8];
  WideMinima<F> minima_;
};

// Q2_K: the four values of 16 weights, in bytes apart, of which one permute selects two values.
template <typename F>
class WideBlockOf<F, WideWay::kFew> {
 public:
  template <Reading kHow>
  BERTH_CARD void Load(const uint8_t* at, uint32_t sub, const CardTable& table) {
    F::template Words<kHow>(at, sub, table, words_);
    WideMinima<F> minima;
    minima.template Load<kHow>(at, sub);
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t first = Bfloat16Pair(minima.Of(128.0f, i), minima.Of(129.0f, i));
      const uint32_t second = Bfloat16Pair(minima.Of(130.0f, i), minima.Of(131.0f, i));
      low_[i] = Bytes<0, 2, 4, 6>(first, second);
      high_[i] = Bytes<1, 3, 5, 7>(first, second);
    }
  }
  BERTH_CARD void Clear() {}  // rows are whole blocks of 256
  template <uint32_t kQuarter>
  BERTH_CARD void Take(const WideLookups&, uint32_t (&to)[4]) const {
    BERTH_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      // A byte with n becomes the selectors n and 4 + n.
      const uint32_t selectors = words_[2 * kQuarter + i] * 0x11 + 0x40404040;
      to[2 * i] = PermuteNibbles(low_[kQuarter / 2], high_[kQuarter / 2], selectors);
      to[2 * i + 1] = PermuteNibbles(low_[kQuarter / 2], high_[kQuarter / 2], selectors >> 16);
    }
  }

 private:
  uint32_t words_[8];
  uint32_t low_[2], high_[2];
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_WEIGHTS_H_
