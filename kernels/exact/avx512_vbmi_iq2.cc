// AVX-512 with VBMI: the smaller lattice formats of two bits.
#include "kernels/exact/avx512_octets.h"
#include "kernels/exact/kernel_sets.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/codebook_iq2.h"

namespace berth::kernels {
namespace {

constexpr SevenTable MakeEvenSigns() {
  SevenTable table{};
  for (uint32_t seven = 0; seven < 128; ++seven) table.bytes[seven] = EvenSigns(seven);
  return table;
}
constexpr SevenTable kEvenSigns = MakeEvenSigns();

constexpr int kLevelOffset = 64;
// By level and, in bit 2, sign.
constexpr ByteTable kWeights =
    MakeNibbleTable({64 + 8, 64 + 25, 64 + 43, 64, 64 - 8, 64 - 25, 64 - 43, 64,  //
                     64 + 8, 64 + 25, 64 + 43, 64, 64 - 8, 64 - 25, 64 - 43, 64});

// `levels`: quads of two bits a level; `signs`: a quad's four in the low half.
inline void ToPlanes(__m512i levels, __m512i signs, __m512i (&planes)[4]) {
  const __m512i low = _mm512_set1_epi8(3);
  const auto weights = [&](__m512i level, __m512i sign) __attribute__((always_inline)) {
    // level & 3 | sign & ~3
    return Lookup(kWeights.bytes, _mm512_ternarylogic_epi32(level, sign, low, 0xe4));
  };
  planes[0] = weights(levels, _mm512_slli_epi16(signs, 2));
  planes[1] = weights(_mm512_srli_epi16(levels, 2), _mm512_slli_epi16(signs, 1));
  planes[2] = weights(_mm512_srli_epi16(levels, 4), signs);
  planes[3] = weights(_mm512_srli_epi16(levels, 6), _mm512_srli_epi16(signs, 1));
}

// `signs`: of 64 points, eight a byte.
inline void ToPlanes(const Points& points, __m512i signs, PairGroup* group) {
  const __m512i others = _mm512_srli_epi16(signs, 4);
  ToPlanes(_mm512_unpacklo_epi8(points.first, points.second), _mm512_unpacklo_epi8(signs, others),
           group->planes[0]);
  ToPlanes(_mm512_unpackhi_epi8(points.first, points.second), _mm512_unpackhi_epi8(signs, others),
           group->planes[1]);
}

// Sixteen scales of four bits, in natural order.
inline __m512 NibbleScales(const uint8_t* from) {
  int64_t bits;
  memcpy(&bits, from, sizeof(bits));
  const __m512i places = _mm512_setr_epi64(0x030000003f, 0x0b00000007, 0x130000000f, 0x1b00000017,
                                           0x230000001f, 0x2b00000027, 0x330000002f, 0x3b00000037);
  return ToScales(_mm512_multishift_epi64_epi8(places, _mm512_set1_epi64(bits)));
}

struct Iq2Xxs {
  using Block = BlockIq2_Xxs;
  static constexpr uint32_t kBytes = sizeof(Block);
  static constexpr int kOffset = kLevelOffset;
  static constexpr bool kHalves = false;
  static constexpr OctetPlanes<256> kPlanes = MakeOctetPlanes(kCodebookIq2Xxs);

  static void Load(const uint8_t* a, const uint8_t* b, PairGroup* group) {
    const Block& a_block = *reinterpret_cast<const Block*>(a);
    const Block& b_block = *reinterpret_cast<const Block*>(b);
    // Four bytes of indices and four of signs and scale in turns.
    const __m512 a_words = _mm512_castsi512_ps(Load512(a_block.qs));
    const __m512 b_words = _mm512_castsi512_ps(Load512(b_block.qs));
    const __m512i index = _mm512_castps_si512(_mm512_shuffle_ps(a_words, b_words, 0x88));
    const __m512i words = _mm512_castps_si512(_mm512_shuffle_ps(a_words, b_words, 0xdd));
    const __m512i sevens =
        _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352e2720150e0700), words);
    ToPlanes(Find(kPlanes, MakeLongIndex(index)), Lookup(kEvenSigns, sevens), group);
    group->scale[0] = ToScales(_mm512_srli_epi32(words, 27));
    group->d = LoadEighths(a_block.d, b_block.d);
  }
};

struct Iq2Xs {
  using Block = BlockIq2_Xs;
  static constexpr uint32_t kBytes = sizeof(Block);
  static constexpr int kOffset = kLevelOffset;
  static constexpr bool kHalves = true;
  static constexpr OctetPlanes<512> kPlanes = MakeOctetPlanes(kCodebookIq2Xs);

  static void Load(const uint8_t* a, const uint8_t* b, PairGroup* group) {
    const Block& a_block = *reinterpret_cast<const Block*>(a);
    const Block& b_block = *reinterpret_cast<const Block*>(b);
    const __m512i a_words = Load512(a_block.qs), b_words = Load512(b_block.qs);
    const __m512i byte = _mm512_set1_epi16(0xff);
    const __m512i index =
        _mm512_packus_epi16(_mm512_and_si512(a_words, byte), _mm512_and_si512(b_words, byte));
    const __m512i high =
        _mm512_packus_epi16(_mm512_srli_epi16(a_words, 8), _mm512_srli_epi16(b_words, 8));
    const __mmask64 bit8 = _mm512_test_epi8_mask(high, _mm512_set1_epi8(1));
    const __m512i signs = Lookup(kEvenSigns, _mm512_srli_epi16(high, 1));
    ToPlanes(Find(kPlanes, MakeLongIndex(index, bit8)), signs, group);
    group->scale[0] = NibbleScales(a_block.scales);
    group->scale[1] = NibbleScales(b_block.scales);
    group->d = LoadEighths(a_block.d, b_block.d);
  }
};

}  // namespace

DotKernel Avx512VbmiIq2Dot(TensorType type) {
  if (type == TensorType::kIQ2_XXS) return &DotQuads<Iq2Xxs>;
  if (type == TensorType::kIQ2_XS) return &DotQuads<Iq2Xs>;
  return nullptr;
}

}  // namespace berth::kernels
