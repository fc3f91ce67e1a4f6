// The lattice formats taken apart for vectors of 256 bits: indices and signs of a whole group
// first, then the points of one block of 32 weights at a time by ordinary loads (gathers are slow
// on many processors, and slower where their leaks had to be closed).
//
// Of a format:
//   using Block; static float D(const Block& block);   its float scale
//   struct Codes; static void Prepare(const Block& block, Codes* codes);   what Points wants
//   static __m256i Scales(const Block& block);    16 bits each: the first halves' of blocks 0 to 7,
//                                             then the second halves'
// and either, kSigned, magnitudes and signs:
//   static __m256i Points(const Codes& codes, int b);   the 32 magnitudes of block b, up to 63
//   codes.signs                               32 bytes, a bit a weight
// or weights as they are used:
//   static __m256i Points(const Codes& codes, int b);   the 32 weights of block b, plus kOffset
//
// To be included by files that are compiled for AVX2 or more and by nobody else; everything is
// internal to them (elementwise.h says why).
#ifndef BERTH_KERNELS_EXACT_AVX2_POINTS_H_
#define BERTH_KERNELS_EXACT_AVX2_POINTS_H_

#include "kernels/exact/avx2_frame.h"
#include "kernels/formats/blocks.h"

namespace berth::kernels {
namespace {

template <typename Word, size_t kSize>
struct PointTable {
  alignas(64) Word points[kSize];
};
template <typename Word, size_t kSize>
constexpr PointTable<Word, kSize> ExpandPoints(const uint16_t (&packed)[kSize], int bits,
                                               const uint8_t (&levels)[8]) {
  PointTable<Word, kSize> table{};
  for (size_t i = 0; i < kSize; ++i) {
    for (size_t j = 0; j < sizeof(Word); ++j) {
      const uint32_t level = (packed[i] >> (static_cast<size_t>(bits) * j)) & ((1u << bits) - 1);
      table.points[i] |= static_cast<Word>(levels[level]) << (8 * j);
    }
  }
  return table;
}

// Loads from an array that was stored as vectors cost less than what compilers make of it when they
// see through: taking elements out of vectors one by one.
template <typename T>
inline void KeepInMemory(T& array) {
  asm("" : "+m"(array));
}

// Broadcasts and blends rather than insertions, which would all wait for the one shuffle unit of
// many processors.
template <typename Index>
inline __m256i Join(const uint32_t* points, const Index* index) {
  const auto at = [&](int i) { return _mm256_set1_epi32(static_cast<int>(points[index[i]])); };
  const __m256i a = _mm256_blend_epi32(at(0), at(1), 0x02);
  const __m256i b = _mm256_blend_epi32(at(2), at(3), 0x08);
  const __m256i c = _mm256_blend_epi32(at(4), at(5), 0x20);
  const __m256i d = _mm256_blend_epi32(at(6), at(7), 0x80);
  return _mm256_blend_epi32(_mm256_blend_epi32(a, b, 0x0c), _mm256_blend_epi32(c, d, 0xc0), 0xf0);
}
template <typename Index>
inline __m256i Join(const uint64_t* points, const Index* index) {
  const auto at = [&](int i) { return _mm256_set1_epi64x(static_cast<int64_t>(points[index[i]])); };
  return _mm256_blend_epi32(_mm256_blend_epi32(at(0), at(1), 0x0c),
                            _mm256_blend_epi32(at(2), at(3), 0xc0), 0xf0);
}

// The eighth sign of each seven: their number is even. Bytes of seven bits each, the eighth clear.
inline __m256i CompleteSigns(__m256i sevens) {
  const __m256i odd = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
  const __m256i low = _mm256_and_si256(sevens, _mm256_set1_epi8(15));
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(sevens, 4), _mm256_set1_epi8(15));
  const __m256i parity =
      _mm256_xor_si256(_mm256_shuffle_epi8(odd, low), _mm256_shuffle_epi8(odd, high));
  return _mm256_or_si256(sevens, parity);
}
// Of eight words with four times seven signs each.
inline __m256i SignsOfWords(__m256i words) {
  const auto seven = [&](int mask, __m256i shifted) __attribute__((always_inline)) {
    return _mm256_and_si256(shifted, _mm256_set1_epi32(mask));
  };
  const __m256i low =
      _mm256_or_si256(seven(0x7f, words), seven(0x7f00, _mm256_slli_epi32(words, 1)));
  const __m256i high = _mm256_or_si256(seven(0x7f0000, _mm256_slli_epi32(words, 2)),
                                       seven(0x7f000000, _mm256_slli_epi32(words, 3)));
  return CompleteSigns(_mm256_or_si256(low, high));
}

// 2 s + 1.
inline __m256i OddScales(__m256i s) {
  return _mm256_or_si256(_mm256_add_epi16(s, s), _mm256_set1_epi16(1));
}
// Eight nibbles in a row, one per block, or sixteen, one per half.
inline __m256i ScalesOfBlocks(const uint8_t* from) {
  int bits;
  memcpy(&bits, from, sizeof(bits));
  const __m128i bytes = _mm_cvtsi32_si128(bits);
  const __m128i apart = _mm_unpacklo_epi8(bytes, _mm_srli_epi16(bytes, 4));
  const __m128i nibbles = _mm_and_si128(apart, _mm_set1_epi8(15));
  return OddScales(_mm256_broadcastsi128_si256(_mm_cvtepu8_epi16(nibbles)));
}
inline __m256i ScalesOfHalves(const uint8_t* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  const __m128i both = _mm_unpacklo_epi64(bytes, _mm_srli_epi16(bytes, 4));
  return OddScales(_mm256_cvtepu8_epi16(_mm_and_si128(both, _mm_set1_epi8(15))));
}
// The uppermost four bits of eight words.
inline __m256i ScalesOfWords(__m256i words) {
  const __m256i scales = _mm256_srli_epi32(words, 28);
  const __m256i packed = _mm256_packus_epi32(scales, scales);
  return OddScales(_mm256_permute4x64_epi64(packed, 0x88));
}

// The scales of halves in natural order out of those of all first and all second halves.
inline __m256i HalvesInTurn(__m256i scales) {
  const __m256i swapped = _mm256_permute4x64_epi64(scales, 0xd8);
  return _mm256_unpacklo_epi16(swapped, _mm256_shuffle_epi32(swapped, 0xee));
}

// What the weights' offsets add, in the order of the activations' sums: sub-scale times offset.
template <typename Format>
inline __m256i Offsets(__m256i scales) {
  return _mm256_mullo_epi16(HalvesInTurn(scales), _mm256_set1_epi16(Format::kOffset));
}
inline __m256i TakeOff(__m256i integers, __m256i offsets, const int16_t* sums) {
  return _mm256_sub_epi32(integers, _mm256_madd_epi16(offsets, Load256(sums)));
}

// The codes of a matrix's blocks, in order, each taken apart while the block before it is at work.
// Otherwise all the loads of a block's points wait for its indices to come out of memory again,
// fill the processor's queues, and the next block cannot start.
template <typename Format>
class CodesAhead {
 public:
  using Codes = typename Format::Codes;
  explicit CodesAhead(const DotCall& call)
      : row_(Bytes(call.weights)),
        row_bytes_(call.row_bytes),
        rows_left_(call.weight_rows),
        groups_(call.cols / 256) {
    if (rows_left_ > 0 && groups_ > 0) Prepare();
  }
  CodesAhead(const CodesAhead&) = delete;
  CodesAhead& operator=(const CodesAhead&) = delete;

  // Good until the next call.
  [[gnu::always_inline]] const Codes& Take() {
    const Codes& codes = codes_[turn_];
    turn_ ^= 1;
    if (++group_ == groups_) {
      group_ = 0;
      // After the last row its first block once more, for nobody.
      if (rows_left_ > 1) {
        row_ += row_bytes_;
        --rows_left_;
      }
    }
    Prepare();
    return codes;
  }

 private:
  [[gnu::always_inline]] void Prepare() {
    const auto* const blocks = reinterpret_cast<const typename Format::Block*>(row_);
    Format::Prepare(blocks[group_], &codes_[turn_]);
  }

  const uint8_t* row_;
  const size_t row_bytes_;
  uint32_t rows_left_;
  const uint32_t groups_;
  uint32_t group_ = 0;
  uint32_t turn_ = 0;
  Codes codes_[2];
};

inline float LoadF16(const uint8_t* from) {
  uint16_t bits;
  memcpy(&bits, from, sizeof(bits));
  return _cvtsh_ss(bits);
}

// As avx2_frame.h's Dot, with codes taken ahead. Of `How`, besides what AddGroup wants:
//   using Format;
//   static void Load(const Block& block, const Codes& codes, Group* group);
template <typename How, bool kOneRow>
inline void DotAhead(const DotCall& call) {
  using Format = typename How::Format;
  using Block = typename Format::Block;
  CodesAhead<Format> ahead(call);
  const uint32_t row_count = kOneRow ? 1 : call.row_count;
  typename How::Group group;
  for (uint32_t w = 0; w < call.weight_rows; ++w) {
    const auto* block = reinterpret_cast<const Block*>(Bytes(call.weights) + w * call.row_bytes);
    __m256 sums[kOneRow ? 1 : kMaxDotRows];
    for (uint32_t r = 0; r < row_count; ++r) sums[r] = _mm256_setzero_ps();
    for (uint32_t col = 0; col < call.cols; col += 256, ++block) {
      Prefetch<sizeof(Block)>(block);
      How::Load(*block, ahead.Take(), &group);
      for (uint32_t r = 0; r < row_count; ++r) {
        sums[r] = AddGroup<How>(group, call.rows[r], col, sums[r]);
      }
    }
    for (uint32_t r = 0; r < row_count; ++r) call.out[r * call.out_stride + w] = Total(sums[r]);
  }
}

}  // namespace
}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXACT_AVX2_POINTS_H_
