// Tables of BF16 that the wide path looks weights up in, in shared memory, in place of the
// decoder's own table, whose words have weights as bytes.
#ifndef BERTH_KERNELS_GPU_WIDE_TABLES_H_
#define BERTH_KERNELS_GPU_WIDE_TABLES_H_

#include <cstdint>

#include "kernels/gpu/formats/card_format.h"
#include "kernels/gpu/formats/card_iq3.h"
#include "kernels/gpu/formats/card_lattice.h"
#include "kernels/gpu/formats/card_nibbles.h"
#include "kernels/gpu/row_sums.h"

namespace berth::kernels::gpu {

struct CardIq2_Xxs;
struct CardIq3_S;
struct CardIq3_Xxs;
struct CardIq4_Nl;
struct CardIq4_Xs;
struct CardMxfp4;
struct CardNvfp4;
struct CardQ2_0;

// Entries of one or two words, each so many times in a row: with 32 words of each, lanes never meet
// in a bank.
struct WideTableShape {
  uint32_t entries = 0, words = 1, copies = 1;
  constexpr uint32_t stride() const { return words * copies; }
  constexpr uint32_t size() const { return entries * stride(); }  // in words
};

// A format's: points (kPoints), and with some signs (kSigns). Word `w` of an entry.
template <typename F>
struct WideTables {
  static constexpr WideTableShape kPoints = {}, kSigns = {};
  BERTH_CARD static uint32_t Point(uint32_t, uint32_t) { return 0; }
  BERTH_CARD static uint32_t Sign(uint32_t) { return 0; }
};
struct NoWideSigns {
  static constexpr WideTableShape kSigns = {};
  BERTH_CARD static uint32_t Sign(uint32_t) { return 0; }
};

// Formats of 16 levels: what two numbers in a byte stand for, the first in its upper half.
template <typename Of>
struct WideLevelPairs : NoWideSigns {
  static constexpr WideTableShape kPoints = {256, 1, 32};
  BERTH_CARD static uint32_t Point(uint32_t i, uint32_t) {
    const auto level = [](uint32_t number) {
      return static_cast<float>(static_cast<int8_t>(Of::TableWord(number) & 0xff));
    };
    return Bfloat16Pair(level(i >> 4), level(i & 15));
  }
};
template <>
struct WideTables<CardIq4_Nl> : WideLevelPairs<LevelsIq4> {};
template <>
struct WideTables<CardIq4_Xs> : WideLevelPairs<LevelsIq4> {};
template <>
struct WideTables<CardMxfp4> : WideLevelPairs<LevelsFloat4> {};
template <>
struct WideTables<CardNvfp4> : WideLevelPairs<LevelsFloat4> {};

// Points of four weights, by the words of the decoder's table. Word w: weights 2 w and 2 w + 1.
template <typename F>
struct WidePoints : NoWideSigns {
  static constexpr WideTableShape kPoints = {F::kTableWords, 2, 16};
  BERTH_CARD static uint32_t Point(uint32_t i, uint32_t w) {
    const uint32_t word = F::TableWord(i) >> (16 * w);
    return Bfloat16Pair(static_cast<float>(static_cast<int8_t>(word & 0xff)),
                        static_cast<float>(static_cast<int8_t>(word >> 8 & 0xff)));
  }
};
template <>
struct WideTables<CardIq3_S> : WidePoints<CardIq3_S> {};
template <>
struct WideTables<CardQ2_0> : WidePoints<CardQ2_0> {};

// Magnitudes, and seven signs with the eighth that they imply, as SignsOfPair takes them.
template <typename F>
struct WideMagnitudes {
  static constexpr WideTableShape kPoints = {256, 2, 16}, kSigns = {128, 1, 32};
  BERTH_CARD static uint32_t Point(uint32_t i, uint32_t w) {
    const uint32_t word = F::TableWord(i) >> (16 * w);
    return Bfloat16Pair(Magnitude(word & 0xff), Magnitude(word >> 8 & 0xff));
  }
  BERTH_CARD static uint32_t Sign(uint32_t i) {
    uint32_t word = 0, last = 0;
    for (uint32_t j = 0; j < 8; ++j) {
      const uint32_t sign = j == 7 ? last : i >> j & 1;
      last ^= sign;
      word |= sign << (15 - j / 2 + 16 * (j % 2));
    }
    return word;
  }

 private:
  // The decoder's table has another number for the last level.
  BERTH_CARD static float Magnitude(uint32_t level) {
    constexpr uint32_t kLast = kLevelsIq3Xxs[7];
    return static_cast<float>(level == kLast ? 62 : level);
  }
};
template <>
struct WideTables<CardIq3_Xxs> : WideMagnitudes<CardIq3_Xxs> {};

template <typename F>
inline constexpr bool kHasWidePoints = WideTables<F>::kPoints.entries != 0;
template <typename F>
inline constexpr bool kHasWideSigns = WideTables<F>::kSigns.entries != 0;
template <typename F>
inline constexpr uint32_t kWideTableWords =
    WideTables<F>::kPoints.size() + WideTables<F>::kSigns.size();

// All copies of an entry, kStride words. Threads with entries beside each other begin with
// different ones, so that they write to different banks.
template <uint32_t kStride>
BERTH_CARD_ONLY void FillWideEntry(uint32_t* to, uint32_t low, uint32_t high, uint32_t thread) {
  static_assert(kStride % 4 == 0);
  constexpr uint32_t kPieces = kStride / 4;
  auto* const pieces = reinterpret_cast<FourWords*>(to);
  for (uint32_t i = 0; i < kPieces; ++i) pieces[(thread + i) % kPieces] = {{low, high, low, high}};
}
// Both, one behind the other. The whole block calls it, and synchronizes then.
template <typename F>
BERTH_CARD_ONLY void FillWideTables(uint32_t* to, uint32_t thread, uint32_t threads) {
  using Tables = WideTables<F>;
  constexpr WideTableShape kPoints = Tables::kPoints, kSigns = Tables::kSigns;
  if constexpr (kHasWidePoints<F>) {
    for (uint32_t i = thread; i < kPoints.entries; i += threads) {
      const uint32_t low = Tables::Point(i, 0);
      const uint32_t high = kPoints.words == 2 ? Tables::Point(i, 1) : low;
      FillWideEntry<kPoints.stride()>(to + i * kPoints.stride(), low, high, thread);
    }
  }
  if constexpr (kHasWideSigns<F>) {
    for (uint32_t i = thread; i < kSigns.entries; i += threads) {
      const uint32_t word = Tables::Sign(i);
      FillWideEntry<kSigns.stride()>(to + kPoints.size() + i * kSigns.stride(), word, word, thread);
    }
  }
}

// A lane's copies.
struct WideLookups {
  CardTable points, signs;
};
template <typename F>
BERTH_CARD_ONLY WideLookups WideLookupsOf(const uint32_t* table, uint32_t lane) {
  constexpr WideTableShape kPoints = WideTables<F>::kPoints, kSigns = WideTables<F>::kSigns;
  WideLookups lookups;
  lookups.points.at = table + lane % kPoints.copies * kPoints.words;
  lookups.points.copies = kPoints.stride();
  lookups.signs.at = table + kPoints.size() + lane % kSigns.copies * kSigns.words;
  lookups.signs.copies = kSigns.stride();
  return lookups;
}

// Entries of two words: number half kHalf, or byte kByte, of `numbers`.
template <uint32_t kHalf>
BERTH_CARD TwoWords WidePointOfHalf(const CardTable& points, uint32_t numbers) {
#if defined(BERTH_ON_NVIDIA)
  const uint32_t address = __dp2a_lo(numbers, (4 * points.copies) << (8 * kHalf),
                                     static_cast<uint32_t>(__cvta_generic_to_shared(points.at)));
  return *static_cast<const TwoWords*>(__cvta_shared_to_generic(address));
#else
  const uint32_t* const at = points.at + (numbers >> (16 * kHalf) & 0xffff) * points.copies;
  return {{at[0], at[1]}};
#endif
}
template <uint32_t kByte>
BERTH_CARD TwoWords WidePointOfByte(const CardTable& points, uint32_t numbers) {
#if defined(BERTH_ON_NVIDIA)
  const uint32_t address = __dp4a(numbers, (4 * points.copies) << (8 * kByte),
                                  static_cast<uint32_t>(__cvta_generic_to_shared(points.at)));
  return *static_cast<const TwoWords*>(__cvta_shared_to_generic(address));
#else
  const uint32_t* const at = points.at + (numbers >> (8 * kByte) & 0xff) * points.copies;
  return {{at[0], at[1]}};
#endif
}

// Entries of one word: of two numbers n and m below 16, each kTimes as much in its byte, the entry
// 16 n + m; bytes 2 kPair and 2 kPair + 1 of `numbers`. One instruction, as above.
template <uint32_t kPair, uint32_t kTimes>
BERTH_CARD uint32_t WideLevelsOfBytes(const CardTable& points, uint32_t numbers) {
#if defined(BERTH_ON_NVIDIA)
  const uint32_t factors = (4 * points.copies / kTimes) * 0x00010010u;
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(points.at));
  const uint32_t address =
      kPair == 0 ? __dp2a_lo(factors, numbers, at) : __dp2a_hi(factors, numbers, at);
  return *static_cast<const uint32_t*>(__cvta_shared_to_generic(address));
#else
  const uint32_t n = numbers >> (16 * kPair) & 0xff, m = numbers >> (16 * kPair + 8) & 0xff;
  return points[(16 * n + m) / kTimes];
#endif
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_WIDE_TABLES_H_
