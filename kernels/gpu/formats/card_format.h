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
//     static constexpr uint32_t kTableWords;  // of shared memory that it looks things up in; 0: none
//     // Word i of the table, computed from the format's codebook.
//     BERTH_CARD static uint32_t TableWord(uint32_t i);
//
//     // `at`: the format's block (its byte 0); `sub`: which 32 of its weights, 0 for formats of 32.
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
//   };
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_FORMAT_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_FORMAT_H_

#include <cstdint>

#include "kernels/formats/weight_group.h"
#include "kernels/gpu/card_code.h"

namespace berth::kernels::gpu {

// What is known of the address of a block when code is generated.
enum class Reading : uint8_t {
  kWords,   // a multiple of 4
  kHalves,  // 2 more than a multiple of 4
  kBytes,   // nothing
};

// A decoder's table in shared memory: kTableWords words, each of them `copies` times in a row, so
// that lanes that look up different words do not meet in a bank; `at` is the lane's own copy of
// word 0.
struct CardTable {
  const uint32_t* at = nullptr;
  uint32_t copies = 1;
  BERTH_CARD uint32_t operator[](uint32_t i) const { return at[i * copies]; }
};

// Of 32 weights; the meaning of each is WeightGroup's. Halves of 16: index 0 and 1. Where a format
// has one value for all 32, index 1 is not set; what its kind does not have is not set at all.
struct BlockScales {
  float d[2];          // index 1 with kKind.two_scales only
  int32_t scale[2];    // kKind.scales; index 1 with kKind.halves only
  float minimum[2];    // kKind.minima: dmin * minimum, an exact product; index 1 with halves only
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_FORMAT_H_
