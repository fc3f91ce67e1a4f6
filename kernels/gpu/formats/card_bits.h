// Bit tricks that decoders are made of: loads from addresses of any alignment, byte permutes, masks
// from signs. Each has a plain C++ twin that gives the same bits.
//
// NVIDIA's byte permute takes four selectors of four bits from the lower half of a register,
// Radeon's takes four of eight bits. Decoders that feed permutes with selectors made at run time
// come in both flavours; kNibbleSelectors says which one is compiled. Plain compilers take
// NVIDIA's, or Radeon's with BERTH_CARD_SELECTORS_OF_BYTES, so that tests see both.
#ifndef BERTH_KERNELS_GPU_FORMATS_CARD_BITS_H_
#define BERTH_KERNELS_GPU_FORMATS_CARD_BITS_H_

#include <cstdint>
#include <cstring>

#include "kernels/gpu/card_code.h"

// In front of loops whose bodies must not stay loops on a card: arrays are registers there.
#if !defined(BERTH_UNROLL) && (defined(__CUDACC__) || defined(__HIPCC__))
#define BERTH_UNROLL _Pragma("unroll")
#elif !defined(BERTH_UNROLL)
#define BERTH_UNROLL
#endif

namespace berth::kernels::gpu {

// What is known of the address of a block when code is generated.
enum class Reading : uint8_t {
  kSixteens,  // a multiple of 16
  kEights,    // a multiple of 8
  kWords,     // a multiple of 4
  kHalves,    // 2 more than a multiple of 4
  kEvens,     // a multiple of 2: hardly dearer than kHalves
  kBytes,     // nothing
};

// What is known `bytes` further on.
BERTH_CARD constexpr Reading After(Reading how, uint32_t bytes) {
  if (how == Reading::kSixteens && bytes % 16 == 0) return how;
  if (how == Reading::kSixteens || how == Reading::kEights) {
    if (bytes % 8 == 0) return Reading::kEights;
    how = Reading::kWords;
  }
  if (how == Reading::kBytes || bytes % 4 == 0) return how;
  if (bytes % 2 != 0) return Reading::kBytes;
  if (how == Reading::kEvens) return how;
  return how == Reading::kWords ? Reading::kHalves : Reading::kWords;
}

#if defined(BERTH_GPU_HIP) || defined(BERTH_CARD_SELECTORS_OF_BYTES)
inline constexpr bool kNibbleSelectors = false;
#else
inline constexpr bool kNibbleSelectors = true;
#endif

// ---- Loads. All read whole words of 4 bytes at multiples of 4, and of those only ones that hold
// a byte of what is asked for.

// `at` is a multiple of 4.
BERTH_CARD uint32_t LoadAligned(const uint8_t* at) {
#if defined(BERTH_ON_NVIDIA) || defined(BERTH_ON_RADEON)
  return *reinterpret_cast<const uint32_t*>(at);
#else
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
#endif
}

// The lower word of high:low shifted right by `bits` < 32.
BERTH_CARD uint32_t FunnelRight(uint32_t low, uint32_t high, uint32_t bits) {
#if defined(BERTH_ON_NVIDIA)
  return __funnelshift_r(low, high, bits);
#elif defined(BERTH_ON_RADEON)
  return __builtin_amdgcn_alignbit(high, low, bits);
#else
  return static_cast<uint32_t>((static_cast<uint64_t>(high) << 32 | low) >> bits);
#endif
}
BERTH_CARD uint32_t RotateRight(uint32_t x, uint32_t bits) { return FunnelRight(x, x, bits); }

// Where to read words of 4 bytes from for what lies kAt behind the block at `at`, and how many
// bytes into the first of them it begins. The bits of `at` are looked at in one way, once a block.
struct Cut {
  const uint8_t* from;
  uint32_t offset;
};
template <Reading kHow, uint32_t kAt>
BERTH_CARD Cut CutAt(const uint8_t* at) {
  const auto address = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at));
  if constexpr (After(kHow, kAt) == Reading::kHalves) {
    return {at + kAt - 2, 2};
  } else if constexpr (After(kHow, kAt) == Reading::kEvens) {
    const uint32_t odd = address & 2;
    if constexpr (kAt % 4 == 0) return {at - odd + kAt, odd};
    return {at + odd + kAt - 2, 2 - odd};
  } else {
    const uint32_t offset = (address + kAt) & 3;
    return {at + kAt - offset, offset};
  }
}

struct alignas(16) FourWords {
  uint32_t words[4];
};
struct alignas(8) TwoWords {
  uint32_t words[2];
};
// A piece at a time, at multiples of its size.
template <typename Piece, uint32_t kCount>
BERTH_CARD void LoadPieces(const uint8_t* at, uint32_t (&words)[kCount]) {
  constexpr uint32_t kPiece = sizeof(Piece) / 4;
  BERTH_UNROLL
  for (uint32_t i = 0; i < kCount; i += kPiece) {
    // Not by memcpy anywhere: sanitizers are to see an address that is no such multiple.
    const Piece piece = *reinterpret_cast<const Piece*>(at + 4 * i);
    BERTH_UNROLL
    for (uint32_t k = 0; k < kPiece; ++k) words[i + k] = piece.words[k];
  }
}

// kCount words of 4 bytes, lowest byte first, from kAt + `further` behind the block at `at` on;
// `further` is a multiple of 4, and of 4 kCount, 16 at most, where addresses are of 8 or 16. A
// Radeon reads words at any address.
template <Reading kHow, uint32_t kAt, uint32_t kCount>
BERTH_CARD void LoadWords(const uint8_t* at, uint32_t further, uint32_t (&words)[kCount]) {
#if defined(BERTH_ON_RADEON)
  struct __attribute__((packed)) Words {
    uint32_t at[kCount];
  };
  const Words loaded = *reinterpret_cast<const Words*>(at + kAt + further);
  BERTH_UNROLL
  for (uint32_t i = 0; i < kCount; ++i) words[i] = loaded.at[i];
#else
  constexpr Reading kFrom = After(kHow, kAt);
  if constexpr (kFrom == Reading::kSixteens && kCount % 4 == 0) {
    LoadPieces<FourWords>(at + kAt + further, words);
  } else if constexpr ((kFrom == Reading::kSixteens || kFrom == Reading::kEights) &&
                       kCount % 2 == 0) {
    LoadPieces<TwoWords>(at + kAt + further, words);
  } else if constexpr (kFrom <= Reading::kWords) {
    BERTH_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) words[i] = LoadAligned(at + kAt + further + 4 * i);
  } else {
    // One word more, each result cut from two of them. The last is the one that holds the last
    // byte, which is not one more where the address turns out to be a multiple of 4.
    const Cut cut = CutAt<kHow, kAt>(at);
    const uint8_t* const from = cut.from + further;
    uint32_t last = 4 * kCount - 4 + 2 * cut.offset;
    if constexpr (After(kHow, kAt) == Reading::kBytes) {
      last = (cut.offset + 4 * kCount - 1) & ~uint32_t{3};
    }
    uint32_t low = LoadAligned(from);
    BERTH_UNROLL
    for (uint32_t i = 0; i < kCount; ++i) {
      const uint32_t high = LoadAligned(from + (i + 1 < kCount ? 4 * i + 4 : last));
      words[i] = FunnelRight(low, high, 8 * cut.offset);
      low = high;
    }
  }
#endif
}
template <Reading kHow, uint32_t kAt>
BERTH_CARD uint32_t LoadWord(const uint8_t* at, uint32_t further) {
  uint32_t words[1];
  LoadWords<kHow, kAt>(at, further, words);
  return words[0];
}

// Two bytes.
template <Reading kHow>
BERTH_CARD uint32_t LoadHalf(const uint8_t* at) {
#if defined(BERTH_ON_RADEON)
  struct __attribute__((packed)) Half {
    uint16_t at;
  };
  return reinterpret_cast<const Half*>(at)->at;
#else
  if constexpr (kHow == Reading::kBytes) {
    return at[0] | static_cast<uint32_t>(at[1]) << 8;
  } else {
#if defined(BERTH_ON_NVIDIA) || defined(BERTH_ON_RADEON)
    return *reinterpret_cast<const uint16_t*>(at);
#else
    uint16_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
#endif
  }
#endif
}

// ---- Permutes.

// Byte i of the result: nibble i of the selector names one of low's bytes (0 to 3) or high's (4 to
// 7); 8 more: that byte's top bit, eight times (kNibbleSelectors only).
BERTH_CARD uint32_t PermuteNibbles(uint32_t low, uint32_t high, uint32_t selectors) {
#if defined(BERTH_ON_NVIDIA)
  uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selectors));
  return result;
#else
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> (4 * i);
    const uint32_t byte = static_cast<uint32_t>(both >> (8 * (selector & 7))) & 0xff;
    result |= ((selector & 8) == 0 ? byte : (byte >> 7) * 0xff) << (8 * i);
  }
  return result;
#endif
}
// The same with selectors in bytes, each 0 to 7.
BERTH_CARD uint32_t PermuteBytes(uint32_t low, uint32_t high, uint32_t selectors) {
#if defined(BERTH_ON_RADEON)
  return __builtin_amdgcn_perm(high, low, selectors);
#elif defined(BERTH_ON_NVIDIA)
  const uint32_t pairs = selectors | selectors >> 4;  // two selectors in every other byte
  return PermuteNibbles(low, high, PermuteNibbles(pairs, 0, 0x4420));
#else
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t selector = (selectors >> (8 * i)) & 7;
    result |= (static_cast<uint32_t>(both >> (8 * selector)) & 0xff) << (8 * i);
  }
  return result;
#endif
}
// The bytes named by constants, 0 to 7.
template <uint32_t kByte0, uint32_t kByte1, uint32_t kByte2, uint32_t kByte3>
BERTH_CARD uint32_t Bytes(uint32_t low, uint32_t high) {
  if constexpr (kNibbleSelectors) {
    return PermuteNibbles(low, high, kByte0 | kByte1 << 4 | kByte2 << 8 | kByte3 << 12);
  } else {
    return PermuteBytes(low, high, kByte0 | kByte1 << 8 | kByte2 << 16 | kByte3 << 24);
  }
}

// ---- Arithmetic on four bytes at once.

inline constexpr uint32_t kOnes = 0x01010101;
inline constexpr uint32_t kTops = 0x80808080;

// In each byte of x, the field below 2 kHalf, minus kHalf (a power of two); bits above it do not
// matter. Two ways to the same bits: a multiplication is as cheap as an addition on NVIDIA, and
// runs beside the pipe for logic; on Radeon it is dear.
template <uint32_t kHalf>
BERTH_CARD uint32_t Centred(uint32_t x) {
  if constexpr (kNibbleSelectors) {
    // A clear top bit of the field becomes that bit and all above: the sign of what is below zero.
    return (~x & (kHalf * kOnes)) * (256 / kHalf - 1) + (x & ((kHalf - 1) * kOnes));
  } else {
    return ((x & ((2 * kHalf - 1) * kOnes)) + (kTops - kHalf * kOnes)) ^ kTops;
  }
}
// bytes - kLess in each byte, for bytes of 0 to 127: the top bit takes the borrow.
template <uint32_t kLess>
BERTH_CARD uint32_t Minus(uint32_t bytes) {
  return (bytes + (kTops - kLess * kOnes)) ^ kTops;
}

// Bit by bit, bit 4 a + 2 b + c of kTruth: the same operations on kTruthA, kTruthB and kTruthC.
// Compilers do not always find the one instruction that NVIDIA has for it.
inline constexpr uint32_t kTruthA = 0xf0, kTruthB = 0xcc, kTruthC = 0xaa;
template <uint32_t kTruth>
BERTH_CARD uint32_t Logic(uint32_t a, uint32_t b, uint32_t c) {
#if defined(BERTH_ON_NVIDIA)
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(kTruth & 0xff));
  return result;
#else
  uint32_t result = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    if ((kTruth >> i & 1) == 0) continue;
    result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return result;
#endif
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_FORMATS_CARD_BITS_H_
