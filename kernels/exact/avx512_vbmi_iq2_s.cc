// AVX-512 with VBMI and GFNI: IQ2_S.
//
// The 1024 points are too many to be looked up as two bytes each: that is 32 lookups for 64 points,
// in the one unit for shuffles that many processors have. Here it is one byte and a little
// (Codebook). What is done to the 64 points of two weight rows then, the first row in the lower
// halves of vectors, needs no shuffles: affine maps of bits make weights of codes and signs, and
// lane b is block b from the start. Byte c of a lane is point c of the block; half a block is the
// first quads of two of its points and, rotated into the places of the two others, their second
// quads.
#include "kernels/exact/avx512_quads.h"
#include "kernels/exact/kernel_sets.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/codebook_iq2.h"

namespace berth::kernels {
namespace {

// Output bit i of a byte: the parity of these bits of the input.
struct BitMap {
  uint8_t rows[8];
};
constexpr int64_t MatrixOf(const BitMap& map) {
  uint64_t matrix = 0;
  for (int i = 0; i < 8; ++i) matrix |= uint64_t{map.rows[i]} << (8 * (7 - i));
  return static_cast<int64_t>(matrix);
}
template <uint8_t kConstant = 0>
inline __m512i Affine(__m512i bytes, int64_t matrix) {
  return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(matrix), kConstant);
}
constexpr bool Parity(uint32_t bits) {
  bool odd = false;
  for (; bits != 0; bits &= bits - 1) odd = !odd;
  return odd;
}

// A level is coded in two bits so that, with the sign and the sign where bit 1 is set, the weight
// is an affine map of four bits.
constexpr int kOffset = 64;
constexpr uint8_t kLevelCodes[3] = {2, 0, 1};
constexpr uint8_t kPlain = kOffset + 25;  // of code 0, positive
constexpr uint8_t kIfLow = kPlain ^ (kOffset + 43), kIfHigh = kPlain ^ (kOffset + 8);
constexpr uint8_t kIfNegative = kPlain ^ (kOffset - 25);
constexpr uint8_t kIfNegativeHigh = (kOffset + 8) ^ (kOffset - 8) ^ kIfNegative;
static_assert((kPlain ^ kIfLow ^ kIfNegative) == kOffset - 43);

// From bytes of two weights: both codes in one half, signs and signs of high codes in the other.
constexpr int64_t WeightMatrix(int code_at, int sign_at) {
  BitMap map{};
  for (int i = 0; i < 8; ++i) {
    const auto bit = [i](uint8_t value, int at) { return ((value >> i) & 1) << at; };
    map.rows[i] =
        static_cast<uint8_t>(bit(kIfLow, code_at) | bit(kIfHigh, code_at + 1) |
                             bit(kIfNegative, sign_at) | bit(kIfNegativeHigh, sign_at + 1));
  }
  return MatrixOf(map);
}
// Nibbles change places.
constexpr int64_t kSwap = MatrixOf({{0x10, 0x20, 0x40, 0x80, 0x01, 0x02, 0x04, 0x08}});
// Signs of four weights in the low nibble: those of the first two to the high one, each twice.
constexpr int64_t kSpreadSigns = MatrixOf({{4, 4, 8, 8, 1, 1, 2, 2}});

// `codes`: of a quad, two bits each; `signs`: its four in the low nibble.
inline void ToPlanes(__m512i codes, __m512i signs, __m512i (&planes)[4]) {
  const __m512i low = _mm512_set1_epi8(0x0f);
  // codes & signs | signs of bits 0, 2, 4, 6
  const __m512i negative = _mm512_ternarylogic_epi32(
      Affine(codes, kSwap), Affine(signs, kSpreadSigns), _mm512_set1_epi8(0x55), 0xc8);
  const __m512i first = _mm512_ternarylogic_epi32(low, codes, negative, 0xca);
  const __m512i second = _mm512_ternarylogic_epi32(low, negative, codes, 0xca);
  planes[0] = Affine<kPlain>(first, WeightMatrix(0, 4));
  planes[1] = Affine<kPlain>(first, WeightMatrix(2, 6));
  planes[2] = Affine<kPlain>(second, WeightMatrix(4, 0));
  planes[3] = Affine<kPlain>(second, WeightMatrix(6, 2));
}

// The codebook is sorted by the levels of weights 7, 6, 5, .... Any sixteen points in a row have at
// most two different upper threes, so that these take three short tables: the one, the other, and
// the place among the sixteen from which on it is the other. And levels of 1 are even in number:
// the parity of weights 0, 1, 5, 6 and 7 leaves at most 14 combinations of weights 2, 3 and 4, a
// nibble, which another short table translates.
struct Codebook {
  // Codes of weights 0 and 1 below, the nibble above.
  alignas(64) uint8_t lower[1024];
  // Codes of weights 5 to 7 from bit 2 on; bit 0: their parity. `until`: the low byte of the index
  // of the last point that has the one.
  ByteTable from, to, until;
  // By parity (bit 0) and nibble: codes of weights 2 and 3 from bit 4 on, of 4 from bit 0 on.
  ByteTable middle;
  bool valid = true;
};
constexpr Codebook MakeCodebook() {
  Codebook book{};
  uint8_t nibble_of[64] = {};  // by three codes
  int count[2] = {};
  for (int levels = 0; levels < 27; ++levels) {
    const uint32_t two = kLevelCodes[levels % 3], three = kLevelCodes[levels / 3 % 3],
                   four = kLevelCodes[levels / 9];
    const uint32_t codes = two | three << 2 | four << 4;
    const int parity = Parity(codes);
    const int nibble = count[parity]++;
    nibble_of[codes] = static_cast<uint8_t>(nibble);
    book.middle.bytes[parity | nibble << 1] = static_cast<uint8_t>(two << 4 | three << 6 | four);
  }
  book.valid = count[0] <= 16 && count[1] <= 16;
  uint8_t upper[1024] = {};
  for (int i = 0; i < 1024; ++i) {
    uint32_t codes = 0;
    for (int j = 0; j < 8; ++j) {
      codes |= uint32_t{kLevelCodes[(kCodebookIq2S[i] >> (2 * j)) & 3]} << (2 * j);
    }
    book.valid = book.valid && !Parity(codes);
    book.lower[i] = static_cast<uint8_t>((codes & 15) | nibble_of[(codes >> 4) & 63] << 4);
    upper[i] = static_cast<uint8_t>((codes >> 10) << 2 | (Parity(codes >> 10) ? 1 : 0));
  }
  for (int i = 0; i < 64; ++i) {
    const uint8_t* const sixteen = upper + 16 * i;
    int at = 0;
    while (at < 16 && sixteen[at] == sixteen[0]) ++at;
    book.from.bytes[i] = sixteen[0];
    book.to.bytes[i] = sixteen[15];
    book.until.bytes[i] = static_cast<uint8_t>(16 * (i % 16) + at - 1);
    for (int j = at; j < 16; ++j) book.valid = book.valid && sixteen[j] == sixteen[15];
  }
  return book;
}
constexpr Codebook kCodebook = MakeCodebook();
static_assert(kCodebook.valid);

// To an index into `middle`, but for the parity of the upper three.
constexpr int64_t kToMiddle = MatrixOf({{0x0f, 0x10, 0x20, 0x40, 0x80, 0, 0, 0}});

// Codes of a point's two quads.
struct QuadCodes {
  __m512i first, second;
};
// `high`: bits 4 and 5 are bits 8 and 9 of the index.
inline QuadCodes FindCodes(__m512i low, __m512i high) {
  const LongIndex index = MakeLongIndex(low, _mm512_test_epi8_mask(high, _mm512_set1_epi8(0x10)),
                                        _mm512_test_epi8_mask(high, _mm512_set1_epi8(0x20)));
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i sixteen = _mm512_ternarylogic_epi32(nibble, _mm512_srli_epi16(low, 4), high, 0xca);
  const __mmask64 beyond = _mm512_cmpgt_epu8_mask(low, Lookup(kCodebook.until.bytes, sixteen));
  const __m512i upper = _mm512_mask_blend_epi8(beyond, Lookup(kCodebook.from.bytes, sixteen),
                                               Lookup(kCodebook.to.bytes, sixteen));
  const __m512i lower = LookupLong<1024>(kCodebook.lower, index);
  // lower ^ upper & 1
  const __m512i middle =
      Lookup(kCodebook.middle.bytes,
             _mm512_ternarylogic_epi32(Affine(lower, kToMiddle), upper, _mm512_set1_epi8(1), 0x78));
  return {_mm512_ternarylogic_epi32(nibble, lower, middle, 0xca),
          _mm512_ternarylogic_epi32(_mm512_set1_epi8(3), middle, upper, 0xca)};
}

// 256 columns of an activation row, by half of a block.
struct alignas(64) BlockColumns {
  int8_t q[2][4][32];    // in the order of the planes
  int32_t offset[2][8];  // -kOffset times the sum of q
  float d[8];
};
// Byte c of a lane: the quad that begins with this weight of the block.
constexpr int kLaneOrder[2][4] = {{0, 8, 4, 12}, {20, 28, 16, 24}};

// Of 64 columns, which are two blocks, the eight bytes of each plane of each half.
constexpr ByteTable MakeBlockOrder() {
  ByteTable order{};
  for (int i = 0; i < 64; ++i) {
    const int half = i / 32, j = i / 8 % 4, block = i / 4 % 2, c = i % 4;
    order.bytes[i] = static_cast<uint8_t>(32 * block + kLaneOrder[half][c] + j);
  }
  return order;
}
constexpr ByteTable kBlockOrder = MakeBlockOrder();

inline void ToBlocks(const ActivationRow& row, uint32_t col, BlockColumns* to) {
  const __m512i order = Load512(kBlockOrder.bytes);
  __m512i part[4];
  for (int i = 0; i < 4; ++i) {
    part[i] = _mm512_permutexvar_epi8(order, Load512(row.q + col + 64 * i));
  }
  // Planes 0 and 2 of the halves, then 1 and 3.
  const __m512i even01 = _mm512_unpacklo_epi64(part[0], part[1]);
  const __m512i even23 = _mm512_unpacklo_epi64(part[2], part[3]);
  const __m512i odd01 = _mm512_unpackhi_epi64(part[0], part[1]);
  const __m512i odd23 = _mm512_unpackhi_epi64(part[2], part[3]);
  for (int half = 0; half < 2; ++half) {
    const auto of_half = [half](__m512i x, __m512i y) {
      return half == 0 ? _mm512_shuffle_i32x4(x, y, 0x44) : _mm512_shuffle_i32x4(x, y, 0xee);
    };
    const __m512i even = of_half(even01, even23), odd = of_half(odd01, odd23);
    _mm512_store_si512(to->q[half][0], _mm512_shuffle_i32x4(even, odd, 0x88));
    _mm512_store_si512(to->q[half][2], _mm512_shuffle_i32x4(even, odd, 0xdd));
  }
  const __m256i sums = Load256(row.sums + col / 16);
  const __m256i first = _mm256_srai_epi32(_mm256_slli_epi32(sums, 16), 16);
  const __m256i second = _mm256_srai_epi32(sums, 16);
  const __m256i factor = _mm256_set1_epi32(-kOffset);
  auto* const offset = reinterpret_cast<__m256i*>(to->offset);
  _mm256_store_si256(offset, _mm256_mullo_epi32(first, factor));
  _mm256_store_si256(offset + 1, _mm256_mullo_epi32(second, factor));
  memcpy(to->d, row.d + col / 32, sizeof(to->d));
}

// The same 32 bytes for both rows.
inline __m512i Twice(const void* from) { return _mm512_broadcast_i64x4(Load256(from)); }
inline __m128i LoadLow64(const uint8_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}
inline __m512i Both(const uint8_t* a, const uint8_t* b) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(Load256(a)), Load256(b), 1);
}

struct BlockGroup {
  __m512i planes[2][4];
  __m512 scale[2];
  __m512 d;
};

inline QuadCodes LoadCodes(const BlockIq2_S& a, const BlockIq2_S& b) {
  int64_t a_qh, b_qh;
  memcpy(&a_qh, a.qh, sizeof(a_qh));
  memcpy(&b_qh, b.qh, sizeof(b_qh));
  const __m512i qh = _mm512_mask_set1_epi64(_mm512_set1_epi64(a_qh), 0xf0, b_qh);
  // Two bits each to bit 4.
  const __m512i places = _mm512_setr_epi64(
      0x0a0806040200fefc, 0x1a18161412100e0c, 0x2a28262422201e1c, 0x3a38363432302e2c,
      0x0a0806040200fefc, 0x1a18161412100e0c, 0x2a28262422201e1c, 0x3a38363432302e2c);
  return FindCodes(Both(a.qs, b.qs), _mm512_multishift_epi64_epi8(places, qh));
}
// 2 s + 1 by the sub-scale s.
alignas(64) constexpr float kOddNumbers[16] = {1,  3,  5,  7,  9,  11, 13, 15,
                                               17, 19, 21, 23, 25, 27, 29, 31};
inline void Load(const BlockIq2_S& a, const BlockIq2_S& b, const QuadCodes& codes,
                 BlockGroup* group) {
  const __m512i signs = Both(a.signs, b.signs);
  const __m512i second = _mm512_rol_epi32(codes.second, 16);
  const __m512i second_signs = _mm512_rol_epi32(signs, 12);  // by two points less four bits
  // The lower half of x, the upper of y. Not under a mask: all mask registers are in use.
  const auto half = [](__m512i x, __m512i y) {
    return _mm512_ternarylogic_epi32(x, y, _mm512_set1_epi32(0xffff), 0xe4);
  };
  ToPlanes(half(codes.first, second), half(signs, second_signs), group->planes[0]);
  ToPlanes(half(second, codes.first), half(second_signs, signs), group->planes[1]);

  const __m128i nibbles = _mm_unpacklo_epi64(LoadLow64(a.scales), LoadLow64(b.scales));
  const __m512i scales = _mm512_cvtepu8_epi32(nibbles);
  const __m512 odd = _mm512_load_ps(kOddNumbers);
  group->scale[0] = _mm512_permutexvar_ps(scales, odd);  // by the lowest four bits
  group->scale[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(scales, 4), odd);
  int a_d, b_d;
  memcpy(&a_d, a.d, sizeof(a_d));
  memcpy(&b_d, b.d, sizeof(b_d));
  const __m256i d = _mm256_mask_set1_epi32(_mm256_set1_epi32(a_d), 0xf0, b_d);
  group->d = _mm512_mul_ps(_mm512_moveldup_ps(_mm512_cvtph_ps(d)), _mm512_set1_ps(0.125f));
}

// All the integers are smaller than 2^24, so that products with sub-scales are exact in floats.
inline __m512 AddBlocks(const BlockGroup& group, const BlockColumns& columns, __m512 sums) {
  __m512i half[2];
  for (int h = 0; h < 2; ++h) {
    half[h] = Twice(columns.offset[h]);
    for (int j = 0; j < 4; ++j) {
      half[h] = _mm512_dpbusd_epi32(half[h], group.planes[h][j], Twice(columns.q[h][j]));
    }
  }
  const __m512 first = _mm512_mul_ps(_mm512_cvtepi32_ps(half[0]), group.scale[0]);
  const __m512 integers = _mm512_fmadd_ps(_mm512_cvtepi32_ps(half[1]), group.scale[1], first);
  const __m512 d = _mm512_castsi512_ps(Twice(columns.d));
  return _mm512_fmadd_ps(_mm512_mul_ps(group.d, d), integers, sums);
}

// As QuadDot of avx512_quads.h.
template <uint32_t kRows>
struct BlockDot {
  static void AddPanel(const BlockIq2_S* a, const BlockIq2_S* b, uint32_t groups,
                       uint32_t row_count, const BlockColumns* columns, __m512* sums) {
    if constexpr (kRows == 1) row_count = 1;
    __m512 running[kRows];
    for (uint32_t r = 0; r < row_count; ++r) running[r] = sums[r];
    // The next codes are found while the last ones are at work: one after the other they are a
    // chain longer than the processor looks ahead.
    QuadCodes codes = LoadCodes(a[0], b[0]);
    const auto add = [&](uint32_t g) __attribute__((always_inline)) {
      Prefetch<sizeof(BlockIq2_S)>(a + g);
      Prefetch<sizeof(BlockIq2_S)>(b + g);
      BlockGroup group;
      Load(a[g], b[g], codes, &group);
      for (uint32_t r = 0; r < row_count; ++r) {
        running[r] = AddBlocks(group, columns[r * kPanelGroups + g], running[r]);
      }
    };
    for (uint32_t g = 1; g < groups; ++g) {
      const QuadCodes next = LoadCodes(a[g], b[g]);
      add(g - 1);
      codes = next;
    }
    add(groups - 1);
    for (uint32_t r = 0; r < row_count; ++r) sums[r] = running[r];
  }

  static void Run(const DotCall& call) {
    BlockColumns columns[kRows * kPanelGroups];
    __m512 sums[kChunkPairs][kRows];
    const uint32_t groups = call.cols / 256, pairs = (call.weight_rows + 1) / 2;
    for (uint32_t chunk = 0; chunk < pairs; chunk += kChunkPairs) {
      const uint32_t count = pairs - chunk < kChunkPairs ? pairs - chunk : kChunkPairs;
      memset(sums, 0, sizeof(sums));
      for (uint32_t first = 0; first < groups; first += kPanelGroups) {
        const uint32_t panel = groups - first < kPanelGroups ? groups - first : kPanelGroups;
        if (chunk == 0 || groups > kPanelGroups) {
          for (uint32_t r = 0; r < call.row_count; ++r) {
            for (uint32_t g = 0; g < panel; ++g) {
              ToBlocks(call.rows[r], 256 * (first + g), &columns[r * kPanelGroups + g]);
            }
          }
        }
        for (uint32_t p = 0; p < count; ++p) {
          const uint32_t w = 2 * (chunk + p);
          const uint8_t* const a = Bytes(call.weights) + w * call.row_bytes;
          // An odd row out is its own partner.
          const uint8_t* const b = w + 1 < call.weight_rows ? a + call.row_bytes : a;
          AddPanel(reinterpret_cast<const BlockIq2_S*>(a) + first,
                   reinterpret_cast<const BlockIq2_S*>(b) + first, panel, call.row_count, columns,
                   sums[p]);
        }
      }
      for (uint32_t p = 0; p < count; ++p) Finish(call, 2 * (chunk + p), sums[p]);
    }
  }

  static void Finish(const DotCall& call, uint32_t w, const __m512* sums) {
    for (uint32_t r = 0; r < call.row_count; ++r) {
      float* const out = call.out + r * call.out_stride + w;
      out[0] = Total(_mm512_castps512_ps256(sums[r]));
      if (w + 1 < call.weight_rows) out[1] = Total(_mm512_extractf32x8_ps(sums[r], 1));
    }
  }
};

void DotIq2S(const DotCall& call) {
  if (call.row_count == 1) return BlockDot<1>::Run(call);
  BlockDot<kMaxDotRows>::Run(call);
}

}  // namespace

DotKernel Avx512VbmiIq2SDot(TensorType type) {
  return type == TensorType::kIQ2_S ? &DotIq2S : nullptr;
}

}  // namespace berth::kernels
