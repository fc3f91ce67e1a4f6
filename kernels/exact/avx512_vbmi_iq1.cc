// AVX-512 with VBMI: IQ1_S and IQ1_M.
#include "kernels/exact/avx512_octets.h"
#include "kernels/exact/kernel_sets.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/codebook_iq1.h"

namespace berth::kernels {
namespace {

constexpr OctetPlanes<2048> kPlanes = MakeOctetPlanes(kCodebookIq1);

// The codebook is sorted, and its second quads are the upper halves of its numbers: any sixteen in
// a row have at most two. So three short tables do for a long one: the one quad, the other, and the
// place among the sixteen from which on it is the other.
struct Steps {
  SevenTable from, to, at;
  bool valid = true;
};
constexpr Steps MakeSteps() {
  Steps steps{};
  for (int i = 0; i < 128; ++i) {
    const uint8_t* const quads = kPlanes.second + 16 * i;
    int at = 0;
    while (at < 16 && quads[at] == quads[0]) ++at;
    steps.from.bytes[i] = quads[0];
    steps.to.bytes[i] = quads[15];
    steps.at.bytes[i] = static_cast<uint8_t>(at);
    for (int j = at; j < 16; ++j) steps.valid = steps.valid && quads[j] == quads[15];
  }
  return steps;
}
constexpr Steps kSteps = MakeSteps();
static_assert(kSteps.valid);

// `high`: bits 8 to 10 of the index are the lowest of each byte.
inline Points FindPoints(__m512i low, __m512i high) {
  const LongIndex index = MakeLongIndex(low, _mm512_test_epi8_mask(high, _mm512_set1_epi8(1)),
                                        _mm512_test_epi8_mask(high, _mm512_set1_epi8(2)),
                                        _mm512_test_epi8_mask(high, _mm512_set1_epi8(4)));
  const __m512i nibble = _mm512_set1_epi8(15);
  // nibble ? low >> 4 : high << 4
  const __m512i sixteen = _mm512_ternarylogic_epi32(nibble, _mm512_srli_epi16(low, 4),
                                                    _mm512_slli_epi16(high, 4), 0xca);
  const __mmask64 beyond =
      _mm512_cmpge_epu8_mask(_mm512_and_si512(low, nibble), Lookup(kSteps.at, sixteen));
  return {LookupLong<2048>(kPlanes.first, index),
          _mm512_mask_blend_epi8(beyond, Lookup(kSteps.from, sixteen), Lookup(kSteps.to, sixteen))};
}

// Weights in eighths, plus 9: 8 times the level (0 to 2), plus 2 where the shift is upwards.
constexpr int kShiftedOffset = 9;

inline void ToPlanes(__m512i levels, __m512i up, __m512i (&planes)[4]) {
  const auto weights = [&](__m512i level) __attribute__((always_inline)) {
    return _mm512_or_si512(_mm512_and_si512(level, _mm512_set1_epi8(0x18)), up);
  };
  planes[0] = weights(_mm512_slli_epi16(levels, 3));
  planes[1] = weights(_mm512_slli_epi16(levels, 1));
  planes[2] = weights(_mm512_srli_epi16(levels, 1));
  planes[3] = weights(_mm512_srli_epi16(levels, 3));
}
// `down`: bit 1 of each point.
inline void ToPlanes(const Points& points, __m512i down, PairGroup* group) {
  const __m512i up = _mm512_andnot_si512(down, _mm512_set1_epi8(2));
  ToPlanes(_mm512_unpacklo_epi8(points.first, points.second), _mm512_unpacklo_epi8(up, up),
           group->planes[0]);
  ToPlanes(_mm512_unpackhi_epi8(points.first, points.second), _mm512_unpackhi_epi8(up, up),
           group->planes[1]);
}

// 32 bits for eight points of the one row, then of the other; each with 32 of zero.
inline __m512i AlternateWords(const uint8_t* a, const uint8_t* b) {
  const __m128i a_words = Load128(a), b_words = Load128(b);
  return _mm512_cvtepu32_epi64(_mm256_setr_m128i(_mm_unpacklo_epi32(a_words, b_words),
                                                 _mm_unpackhi_epi32(a_words, b_words)));
}

struct Iq1S {
  using Block = BlockIq1_S;
  static constexpr uint32_t kBytes = sizeof(Block);
  static constexpr int kOffset = kShiftedOffset;
  static constexpr bool kHalves = false;

  static void Load(const uint8_t* a, const uint8_t* b, PairGroup* group) {
    const Block& a_block = *reinterpret_cast<const Block*>(a);
    const Block& b_block = *reinterpret_cast<const Block*>(b);
    const __m512i words = AlternateWords(a_block.qh, b_block.qh);
    const __m512i high = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x1916131009060300), words);
    const __m512i down = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x1e1e1e1e0e0e0e0e), words);
    ToPlanes(FindPoints(Alternate(a_block.qs, b_block.qs), high), down, group);
    group->scale[0] =
        ToScales<3>(_mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0000001b0000000b), words));
    group->d = LoadEighths(a_block.d, b_block.d);
  }
};

struct Iq1M {
  using Block = BlockIq1_M;
  static constexpr uint32_t kBytes = sizeof(Block);
  static constexpr int kOffset = kShiftedOffset;
  static constexpr bool kHalves = true;

  static uint64_t Words(const Block& block) {
    uint64_t words;
    memcpy(&words, block.scales, sizeof(words));
    return words;
  }
  // The uppermost four bits of each 16, together.
  static int F16(uint64_t words) {
    return static_cast<int>((words >> 12 & 0xf) | (words >> 24 & 0xf0) | (words >> 36 & 0xf00) |
                            (words >> 48 & 0xf000));
  }
  // Sixteen times three bits, four in each 16.
  static __m512 Scales(uint64_t words) {
    const __m512i places =
        _mm512_setr_epi64(0x020000003f, 0x0800000005, 0x120000000f, 0x1800000015,  //
                          0x220000001f, 0x2800000025, 0x320000002f, 0x3800000035);
    return ToScales<3>(
        _mm512_multishift_epi64_epi8(places, _mm512_set1_epi64(static_cast<int64_t>(words))));
  }

  static void Load(const uint8_t* a, const uint8_t* b, PairGroup* group) {
    const Block& a_block = *reinterpret_cast<const Block*>(a);
    const Block& b_block = *reinterpret_cast<const Block*>(b);
    const __m512i high = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x1c1814100c080400),
                                                      AlternateWords(a_block.qh, b_block.qh));
    ToPlanes(FindPoints(Alternate(a_block.qs, b_block.qs), high), _mm512_srli_epi16(high, 2),
             group);
    const uint64_t a_words = Words(a_block), b_words = Words(b_block);
    group->scale[0] = Scales(a_words);
    group->scale[1] = Scales(b_words);
    group->d = _mm512_mul_ps(PairOfF16(F16(a_words), F16(b_words)), _mm512_set1_ps(0.125f));
  }
};

}  // namespace

DotKernel Avx512VbmiIq1Dot(TensorType type) {
  if (type == TensorType::kIQ1_S) return &DotQuads<Iq1S>;
  if (type == TensorType::kIQ1_M) return &DotQuads<Iq1M>;
  return nullptr;
}

}  // namespace berth::kernels
