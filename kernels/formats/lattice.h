// What the lattice formats (IQ2, IQ3) share: points of magnitudes, eight bytes each, and signs.
#ifndef BERTH_KERNELS_FORMATS_LATTICE_H_
#define BERTH_KERNELS_FORMATS_LATTICE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/formats/block.h"

namespace berth::kernels {

// Expands a packed codebook: kBits bits a value, lowest first, each naming one of the levels.
template <typename Word, int kBits, size_t kSize>
constexpr std::array<Word, kSize> ExpandCodebook(const uint16_t (&packed)[kSize],
                                                 const uint8_t (&levels)[1 << kBits]) {
  std::array<Word, kSize> points{};
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j < sizeof(Word); ++j) {
      const uint32_t level = (packed[i] >> (kBits * j)) & ((1u << kBits) - 1);
      points[i] |= static_cast<Word>(levels[level]) << (8 * j);
    }
  }
  return points;
}

// For each byte of signs (bit j: weight j is negative) 0xff in the bytes that are to be negated.
constexpr std::array<uint64_t, 256> MakeSignMasks() {
  std::array<uint64_t, 256> masks{};
  for (uint64_t signs = 0; signs < 256; ++signs) {
    for (int j = 0; j < 8; ++j) masks[signs] |= ((signs >> j) & 1) * (uint64_t{0xff} << (8 * j));
  }
  return masks;
}
inline constexpr std::array<uint64_t, 256> kSignMasks = MakeSignMasks();

// Seven stored signs; the eighth makes their number even.
inline uint32_t EvenSigns(uint32_t seven) {
  return seven | (static_cast<uint32_t>(std::popcount(seven)) & 1u) << 7;
}

// Eight magnitudes (1 to 127) with their signs, as signed bytes. Negating a byte that is not zero
// never carries out of it, so all eight are negated in one word.
inline void StoreSigned(uint64_t magnitudes, uint32_t signs, int8_t* to) {
  const uint64_t mask = kSignMasks[signs];
  const uint64_t values = (magnitudes ^ mask) + (mask & 0x0101010101010101u);
  std::memcpy(to, &values, sizeof(values));
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_LATTICE_H_
