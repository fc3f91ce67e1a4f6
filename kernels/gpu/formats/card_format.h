// How kernels of a card take weights apart: the contract of the decoders in this folder.
//
// A decoder is a struct of constants and inline functions, one per format, that nvcc, hipcc and an
// ordinary C++ compiler all take: tests hold every decoder against Format::unpack bit by bit on the
// host, and kernels run on an emulated card as they run on a real one (vendor_emulated.h).
//
//   struct CardIq3_S {
//     static constexpr uint32_t kElements;    // weights of a block of the format: 32 to 256
//     static constexpr uint32_t kBytes;       // bytes of such a block
//     static constexpr GroupKind kKind;       // as Format::kind
//     static constexpr uint32_t kTableWords;  // of shared memory that it looks things up in; 0:
//     none
//     // Word i of the table, computed from the format's codebook.
//     BERTH_CARD static uint32_t TableWord(uint32_t i);
//
//     // `at`: the format's block (its byte 0); `sub`: which 32 of its weights, 0 for formats
//     of 32.
//     // The eight words of these 32 weights; word i: weights 4 i to 4 i + 3, the first one in the
//     // lowest byte, each a signed 8-bit integer.
//     template <Reading kHow>
//     BERTH_CARD static void Words(const uint8_t* at, uint32_t sub, const CardTable& table,
//                                  uint32_t (&words)[8]);
//     // Two of them: what lane `t` of four holds as an operand of a matrix instruction. Words 2 t
//     // and 2 t + 1, or, where the two halves of 32 have integers of their own (kKind.halves or
//     // kKind.two_scales), words t and 4 + t.
//     template <Reading kHow>
//     BERTH_CARD static void Pair(const uint8_t* at, uint32_t sub, uint32_t t,
//                                 const CardTable& table, uint32_t (&words)[2]);
//     // Everything else of these 32 weights.
//     template <Reading kHow>
//     BERTH_CARD static void Scales(const uint8_t* at, uint32_t sub, BlockScales* scales);
//
//     // All three for 64 weights in a row, `sub` even, for less than twice the work where they
//     share
//     // bytes. Formats of 32: the block at `at` and the one behind it.
//     template <Reading kHow>
//     BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable& table,
//                                       uint32_t (&words)[2][8]);
//     template <Reading kHow>
//     BERTH_CARD static void PairOfTwo(const uint8_t* at, uint32_t sub, uint32_t t,
//                                      const CardTable& table, uint32_t (&words)[2][2]);
//     template <Reading kHow>
//     BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales
//     (&scales)[2]);
//   };
//
// Memory is read in words of 4 bytes at multiples of 4, so up to 3 bytes before and behind a block
// are read with it, never a word that holds no byte of the block.
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_FORMAT_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_FORMAT_H_

#include <cstdint>

#include "kernels/formats/weight_group.h"
#include "kernels/gpu/card_code.h"
#include "kernels/gpu/formats/card_bits.h"

namespace berth::kernels::gpu {

// A decoder's table in shared memory: kTableWords words, each of them `copies` times in a row, so
// that lanes that look up different words do not meet in a bank; `at` is the lane's own copy of
// word 0.
struct CardTable {
  const uint32_t* at = nullptr;
  uint32_t copies = 1;  // 32 at most
  BERTH_CARD uint32_t operator[](uint32_t i) const { return at[i * copies]; }
  // Word kFirst + byte kByte of `index`.
  template <uint32_t kByte, uint32_t kFirst = 0>
  BERTH_CARD uint32_t OfByte(uint32_t index) const;
  // Word kFirst + half kHalf (16 bits) of `index`.
  template <uint32_t kHalf, uint32_t kFirst = 0>
  BERTH_CARD uint32_t OfHalf(uint32_t index) const;

#if defined(BERTH_ON_NVIDIA)
 private:
  BERTH_CARD uint32_t Address() const {
    return static_cast<uint32_t>(__cvta_generic_to_shared(at));
  }
  BERTH_CARD static uint32_t Load(uint32_t address) {
    return *static_cast<const uint32_t*>(__cvta_shared_to_generic(address));
  }
#endif
};

// On NVIDIA an integer dot product picks the byte or half, scales it and adds the table's address
// at once, on a pipe that has less to do than the one for shifts and masks.
template <uint32_t kByte, uint32_t kFirst>
BERTH_CARD uint32_t CardTable::OfByte(uint32_t index) const {
#if defined(BERTH_ON_NVIDIA)
  return Load(__dp4a(index, (4 * copies) << (8 * kByte), Address()) + 4 * kFirst * copies);
#else
  return (*this)[kFirst + ((index >> (8 * kByte)) & 0xff)];
#endif
}
template <uint32_t kHalf, uint32_t kFirst>
BERTH_CARD uint32_t CardTable::OfHalf(uint32_t index) const {
#if defined(BERTH_ON_NVIDIA)
  return Load(__dp2a_lo(index, (4 * copies) << (8 * kHalf), Address()) + 4 * kFirst * copies);
#else
  return (*this)[kFirst + ((index >> (16 * kHalf)) & 0xffff)];
#endif
}

// Of 32 weights; the meaning of each is WeightGroup's. Halves of 16: index 0 and 1. Where a format
// has one value for all 32, index 1 is not set; what its kind does not have is not set at all.
struct BlockScales {
  float d[2];        // index 1 with kKind.two_scales only
  int32_t scale[2];  // kKind.scales; index 1 with kKind.halves only
  float minimum[2];  // kKind.minima: dmin * minimum, an exact product; index 1 with halves only
};

// The entry points for 64 weights by those for 32; decoders that do better declare their own.
template <typename Decoder>
struct CardDecoder {
  template <Reading kHow>
  BERTH_CARD static void WordsOfTwo(const uint8_t* at, uint32_t sub, const CardTable& table,
                                    uint32_t (&words)[2][8]) {
    Decoder::template Words<kHow>(at, sub, table, words[0]);
    if constexpr (Decoder::kElements == 32) {
      Decoder::template Words<After(kHow, Decoder::kBytes)>(at + Decoder::kBytes, 0, table,
                                                            words[1]);
    } else {
      Decoder::template Words<kHow>(at, sub + 1, table, words[1]);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void PairOfTwo(const uint8_t* at, uint32_t sub, uint32_t t,
                                   const CardTable& table, uint32_t (&words)[2][2]) {
    Decoder::template Pair<kHow>(at, sub, t, table, words[0]);
    if constexpr (Decoder::kElements == 32) {
      Decoder::template Pair<After(kHow, Decoder::kBytes)>(at + Decoder::kBytes, 0, t, table,
                                                           words[1]);
    } else {
      Decoder::template Pair<kHow>(at, sub + 1, t, table, words[1]);
    }
  }
  template <Reading kHow>
  BERTH_CARD static void ScalesOfTwo(const uint8_t* at, uint32_t sub, BlockScales (&scales)[2]) {
    Decoder::template Scales<kHow>(at, sub, &scales[0]);
    if constexpr (Decoder::kElements == 32) {
      Decoder::template Scales<After(kHow, Decoder::kBytes)>(at + Decoder::kBytes, 0, &scales[1]);
    } else {
      Decoder::template Scales<kHow>(at, sub + 1, &scales[1]);
    }
  }
};
// For decoders that look nothing up.
struct NoTable {
  static constexpr uint32_t kTableWords = 0;
  BERTH_CARD static uint32_t TableWord(uint32_t) { return 0; }
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_FORMAT_H_
