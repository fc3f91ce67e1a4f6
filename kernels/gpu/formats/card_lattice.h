// What the decoders of lattice formats share: tables made of packed codebooks, signs.
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_LATTICE_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_LATTICE_H_

#include <cstdint>

#include "kernels/gpu/formats/card_bits.h"

namespace berth::kernels::gpu {

template <uint32_t kCount>
struct TableWords {
  uint32_t words[kCount];
};

// Four magnitudes to a word, from three bits each that number eight levels.
template <uint32_t kCount>
constexpr TableWords<kCount> MagnitudesOf(const uint16_t (&codebook)[kCount],
                                          const uint8_t (&levels)[8]) {
  TableWords<kCount> table{};
  for (uint32_t i = 0; i < kCount; ++i) {
    for (uint32_t j = 0; j < 4; ++j) {
      table.words[i] |= static_cast<uint32_t>(levels[(codebook[i] >> (3 * j)) & 7]) << (8 * j);
    }
  }
  return table;
}

// Names of a table `kName` that host code finds in memory and a card in its own.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define BERTH_CARD_TABLE(kName, ...)         \
  inline constexpr auto kName = __VA_ARGS__; \
  static __device__ const decltype(__VA_ARGS__) kName##OfCard = __VA_ARGS__
#else
#define BERTH_CARD_TABLE(kName, ...) inline constexpr auto kName = __VA_ARGS__
#endif
#if defined(__CUDA_ARCH__) || (defined(__HIPCC__) && defined(__HIP_DEVICE_COMPILE__))
#define BERTH_CARD_TABLE_WORD(kName, i) (kName##OfCard.words[i])
#else
#define BERTH_CARD_TABLE_WORD(kName, i) (kName.words[i])
#endif

// Eight small numbers in the nibbles of a word, from which permutes select: number j in nibble j,
// or where selectors are bytes, numbers 0 to 3 in the low nibbles of bytes and 4 to 7 in the high
// ones.
constexpr uint32_t ShiftOfNumber(uint32_t j) {
  return kNibbleSelectors ? 4 * j : 8 * (j % 4) + 4 * (j / 4);
}
// What the numbers 0 to 7 select of eight bytes: of the first four numbers, of the other four.
struct Selected {
  uint32_t first, second;
};
BERTH_CARD Selected Select(uint32_t low, uint32_t high, uint32_t numbers) {
  if constexpr (kNibbleSelectors) {
    return {PermuteNibbles(low, high, numbers), PermuteNibbles(low, high, numbers >> 16)};
  } else {
    return {PermuteBytes(low, high, numbers & 0x0f0f0f0f),
            PermuteBytes(low, high, (numbers >> 4) & 0x0f0f0f0f)};
  }
}
// One of the two, known at run time only.
BERTH_CARD uint32_t SelectHalf(uint32_t low, uint32_t high, uint32_t numbers, uint32_t half) {
  if constexpr (kNibbleSelectors) return PermuteNibbles(low, high, numbers >> (16 * half));
  return PermuteBytes(low, high, (numbers >> (4 * half)) & 0x0f0f0f0f);
}

// Tables of eight numbers a word: points of two bits a weight, then signs, kSign for a minus. With
// seven signs stored the eighth makes their number even.
enum class Signs : uint32_t { kSeven = 128, kEight = 256 };
constexpr uint32_t NumbersOfPoint(uint32_t packed) {
  uint32_t word = 0;
  for (uint32_t j = 0; j < 8; ++j) word |= ((packed >> (2 * j)) & 3) << ShiftOfNumber(j);
  return word;
}
constexpr uint32_t NumbersOfSigns(uint32_t signs, Signs stored, uint32_t sign) {
  uint32_t word = 0, last = signs >> 7;
  if (stored == Signs::kSeven) {
    for (uint32_t j = 0; j < 7; ++j) last ^= (signs >> j) & 1;
  }
  for (uint32_t j = 0; j < 8; ++j) {
    word |= (j == 7 ? last : (signs >> j) & 1) * sign << ShiftOfNumber(j);
  }
  return word;
}
template <Signs kSigns, uint32_t kPoints>
constexpr auto PointsAndSigns(const uint16_t (&codebook)[kPoints]) {
  TableWords<kPoints + static_cast<uint32_t>(kSigns)> table{};
  for (uint32_t i = 0; i < kPoints; ++i) table.words[i] = NumbersOfPoint(codebook[i]);
  for (uint32_t i = 0; i < static_cast<uint32_t>(kSigns); ++i) {
    table.words[kPoints + i] = NumbersOfSigns(i, kSigns, 4);
  }
  return table;
}
// Four times seven bits, each to the low end of a byte.
BERTH_CARD uint32_t SpreadSevens(uint32_t x) {
  const uint32_t halves = (x & 0x3fff) | ((x << 2) & 0x3fff0000);
  return (halves & 0x007f007f) | ((halves << 1) & 0x7f007f00);
}

// kMinus in byte i where bit i is set, else 0. Where selectors are bytes, kMinus lacks the lowest
// bit, which saves an operation on odd magnitudes.
inline constexpr uint32_t kMinus = kNibbleSelectors ? 0xff : 0xfe;
struct SignMasks {
  uint32_t low, high;  // bits 0 to 3 and 4 to 7
};
// Of byte kByte of `signs`.
template <uint32_t kByte>
BERTH_CARD SignMasks MasksOfSigns(uint32_t signs) {
  if constexpr (kNibbleSelectors) {
    // One multiplication spreads seven bits to the tops of bytes without carries, the eighth lies
    // at the top of one already; then tops are made masks.
    const uint32_t seven = Bytes<kByte, 4, 4, 4>(signs & 0x7f7f7f7f, 0);
    constexpr uint32_t kUpper = 1u << 3 | 1u << 10 | 1u << 17;
    return {PermuteNibbles(seven * 0x10204080u, 0, 0xba98),
            PermuteNibbles(seven * kUpper, signs, 0xca98 + (kByte << 12))};
  } else {
    const uint32_t low = (((signs >> (8 * kByte)) & 15) * 0x204081u) & kOnes;
    const uint32_t high = (((signs >> (8 * kByte + 4)) & 15) * 0x204081u) & kOnes;
    return {PermuteBytes(kMinus << 8, 0, low), PermuteBytes(kMinus << 8, 0, high)};
  }
}
// Four odd magnitudes with their signs: -x is ~x, which is even, plus 1.
BERTH_CARD uint32_t SignedOdd(uint32_t magnitudes, uint32_t mask) {
  if constexpr (kNibbleSelectors) return (magnitudes ^ mask) | kOnes;
  return magnitudes ^ mask;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_LATTICE_H_
