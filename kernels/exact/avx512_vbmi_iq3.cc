// AVX-512 with VBMI: the lattice formats of three bits, whose codebooks live in registers.
#include "kernels/exact/avx512_quads.h"
#include "kernels/exact/kernel_sets.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/codebook_iq3.h"

namespace berth::kernels {
namespace {

// Two planes of a codebook of quads, two levels a byte.
template <size_t kSize>
struct Iq3Planes {
  alignas(64) uint8_t first[kSize];   // of weights 0 and 1
  alignas(64) uint8_t second[kSize];  // of weights 2 and 3
};
// `set_bits` are set in each level's four bits.
template <size_t kSize>
constexpr Iq3Planes<kSize> MakePlanes(const uint16_t (&codebook)[kSize], uint32_t set_bits) {
  Iq3Planes<kSize> planes{};
  for (size_t i = 0; i < kSize; ++i) {
    uint32_t level[4] = {};
    for (int j = 0; j < 4; ++j) level[j] = ((codebook[i] >> (3 * j)) & 7u) | set_bits;
    planes.first[i] = static_cast<uint8_t>(level[0] | level[1] << 4);
    planes.second[i] = static_cast<uint8_t>(level[2] | level[3] << 4);
  }
  return planes;
}

inline __mmask64 LoadMask(const uint8_t* from) {
  uint64_t bits;
  memcpy(&bits, from, sizeof(bits));
  return _cvtu64_mask64(bits);
}

// IQ3_S. The weights are 2 u - 15 with u = 8 + level, or, negated, 7 - level: its complement in
// four bits. So signs turn whole nibbles around before the quads come apart.
struct Iq3S {
  using Block = BlockIq3_S;
  static constexpr uint32_t kBytes = sizeof(Block);
  static constexpr int kOffset = 15;
  static constexpr bool kHalves = false;

  static constexpr Iq3Planes<512> kPlanes = MakePlanes(kCodebookIq3S, 8);
  // By four signs: what turns the first two around, and the other two.
  static constexpr ByteTable kTurnFirst =
      MakeNibbleTable({0, 15, 240, 255, 0, 15, 240, 255, 0, 15, 240, 255, 0, 15, 240, 255});
  static constexpr ByteTable kTurnSecond =
      MakeNibbleTable({0, 0, 0, 0, 15, 15, 15, 15, 240, 240, 240, 240, 255, 255, 255, 255});

  static void LoadRow(const Block& block, __m512i (&planes)[4]) {
    const LongIndex index = MakeLongIndex(Load512(block.qs), LoadMask(block.qh));
    // Byte c: the four signs of quad c in its low half.
    const __m512i shifts = _mm512_set1_epi64(0x1c1814100c080400);
    const __m512i signs =
        _mm512_multishift_epi64_epi8(shifts, _mm512_cvtepu32_epi64(Load256(block.signs)));
    const __m512i first =
        _mm512_xor_si512(LookupLong<512>(kPlanes.first, index), Lookup(kTurnFirst.bytes, signs));
    const __m512i second =
        _mm512_xor_si512(LookupLong<512>(kPlanes.second, index), Lookup(kTurnSecond.bytes, signs));
    const __m512i twice = _mm512_set1_epi8(0x1e);
    planes[0] = _mm512_and_si512(_mm512_add_epi8(first, first), twice);
    planes[1] = _mm512_and_si512(_mm512_srli_epi16(first, 3), twice);
    planes[2] = _mm512_and_si512(_mm512_add_epi8(second, second), twice);
    planes[3] = _mm512_and_si512(_mm512_srli_epi16(second, 3), twice);
  }

  static void Load(const uint8_t* a, const uint8_t* b, PairGroup* group) {
    const Block& a_block = *reinterpret_cast<const Block*>(a);
    const Block& b_block = *reinterpret_cast<const Block*>(b);
    LoadRow(a_block, group->planes[0]);
    LoadRow(b_block, group->planes[1]);
    int a_scales, b_scales;
    memcpy(&a_scales, a_block.scales, 4);
    memcpy(&b_scales, b_block.scales, 4);
    const __m512i scales = _mm512_mask_set1_epi32(_mm512_set1_epi32(a_scales), 0xcccc, b_scales);
    // 2 scale + 1: one place to the left of where the nibble belongs.
    const __m512i turned = _mm512_rorv_epi32(
        scales, _mm512_setr_epi32(31, 3, 31, 3, 7, 11, 7, 11, 15, 19, 15, 19, 23, 27, 23, 27));
    group->scale[0] = ToScales(turned);
    group->d = LoadPairOfF16(a_block.d, b_block.d);
  }
};

// The eight signs of two quads by the seven that are stored. From the highest bit down: those of
// weights 1, 3, 5, 7, then 0, 2, 4, 6, so that pairs come to stand where the upper bits of two
// levels are (0x88) by shifts of 0, 1 (first quad, both planes), 2, 3 (second quad).
constexpr SevenTable MakeSigns() {
  SevenTable table{};
  for (uint32_t seven = 0; seven < 128; ++seven) {
    const uint32_t signs = EvenSigns(seven);
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) {
      bits |= ((signs >> (2 * i)) & 1) << (3 - i) | ((signs >> (2 * i + 1)) & 1) << (7 - i);
    }
    table.bytes[seven] = static_cast<uint8_t>(bits);
  }
  return table;
}
constexpr SevenTable kSigns = MakeSigns();

// IQ3_XXS. A sign joins its level's three bits, and both together name the weight.
struct Iq3Xxs {
  using Block = BlockIq3_Xxs;
  static constexpr uint32_t kBytes = sizeof(Block);
  static constexpr int kOffset = 64;
  static constexpr bool kHalves = false;

  static constexpr Iq3Planes<256> kPlanes = MakePlanes(kCodebookIq3Xxs, 0);
  static constexpr ByteTable kWeights =
      MakeNibbleTable({64 + 4, 64 + 12, 64 + 20, 64 + 28, 64 + 36, 64 + 44, 64 + 52, 64 + 62,  //
                       64 - 4, 64 - 12, 64 - 20, 64 - 28, 64 - 36, 64 - 44, 64 - 52, 64 - 62});

  static void LoadRow(const Block& block, __m512i (&planes)[4]) {
    const LongIndex index = MakeLongIndex(Load512(block.qs));
    // Every seven signs twice, for two quads.
    const __m512i words = _mm512_cvtepu32_epi64(Load256(block.scales_and_signs));
    const __m512i sevens =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x15150e0e07070000), words);
    const __m512i signs = Lookup(kSigns, sevens);
    const __m512i first_signs =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x3630262016100600), signs);
    const __m512i second_signs =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352f251f150f053f), signs);
    const __m512i upper = _mm512_set1_epi8(static_cast<char>(0x88));
    const __m512i first = _mm512_or_si512(LookupLong<256>(kPlanes.first, index),
                                          _mm512_and_si512(first_signs, upper));
    const __m512i second = _mm512_or_si512(LookupLong<256>(kPlanes.second, index),
                                           _mm512_and_si512(second_signs, upper));
    planes[0] = Lookup(kWeights.bytes, first);
    planes[1] = Lookup(kWeights.bytes, _mm512_srli_epi16(first, 4));
    planes[2] = Lookup(kWeights.bytes, second);
    planes[3] = Lookup(kWeights.bytes, _mm512_srli_epi16(second, 4));
  }

  static void Load(const uint8_t* a, const uint8_t* b, PairGroup* group) {
    const Block& a_block = *reinterpret_cast<const Block*>(a);
    const Block& b_block = *reinterpret_cast<const Block*>(b);
    LoadRow(a_block, group->planes[0]);
    LoadRow(b_block, group->planes[1]);
    const __m512i words =
        _mm512_inserti64x4(_mm512_castsi256_si512(Load256(a_block.scales_and_signs)),
                           Load256(b_block.scales_and_signs), 1);
    const __m512i order = _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    group->scale[0] = ToScales(_mm512_srli_epi32(_mm512_permutexvar_epi32(order, words), 27));
    group->d = _mm512_mul_ps(LoadPairOfF16(a_block.d, b_block.d), _mm512_set1_ps(0.25f));
  }
};

}  // namespace

DotKernel Avx512VbmiIq3Dot(TensorType type) {
  if (type == TensorType::kIQ3_S) return &DotQuads<Iq3S>;
  if (type == TensorType::kIQ3_XXS) return &DotQuads<Iq3Xxs>;
  return nullptr;
}

}  // namespace berth::kernels
