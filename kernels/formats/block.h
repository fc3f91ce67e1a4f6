// What the formats share: loads, the loops that turn small integers into floats, and the frames
// around "take one block apart" and "make one block valid". Block types: blocks.h.
#ifndef BERTH_KERNELS_FORMATS_BLOCK_H_
#define BERTH_KERNELS_FORMATS_BLOCK_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/formats/format.h"
#include "kernels/formats/half.h"
#include "kernels/formats/weight_group.h"
#include "runtime/base/mix.h"

namespace berth::kernels {

static_assert(std::endian::native == std::endian::little, "GGUF data is little-endian");

inline uint16_t LoadU16(const uint8_t* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
inline uint32_t LoadU32(const uint8_t* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
inline void StoreU16(uint16_t value, uint8_t* to) { std::memcpy(to, &value, sizeof(value)); }
inline float LoadF16(const uint8_t* from) { return F16ToF32(LoadU16(from)); }

// For each byte: 0xff in byte j of the word where its bit j is set.
constexpr std::array<uint64_t, 256> MakeByteMasks() {
  std::array<uint64_t, 256> masks{};
  for (uint64_t bits = 0; bits < 256; ++bits) {
    for (int j = 0; j < 8; ++j) masks[bits] |= ((bits >> j) & 1) * (uint64_t{0xff} << (8 * j));
  }
  return masks;
}
inline constexpr std::array<uint64_t, 256> kByteMasks = MakeByteMasks();

// The loops that turn integers into floats. Not inlined: where they are, GCC vectorizes across
// the sub-blocks of a block instead of along them, with strided accesses (Q6_K: eight times
// slower).
//
// to[i] = scale * q[i].
template <int kCount>
[[gnu::noinline]] inline void Scale(const int8_t* __restrict q, float scale, float* __restrict to) {
  for (int i = 0; i < kCount; ++i) to[i] = scale * static_cast<float>(q[i]);
}
// to[i] = scale * q[i] + offset.
template <int kCount>
[[gnu::noinline]] inline void ScaleAndAdd(const int8_t* __restrict q, float scale, float offset,
                                          float* __restrict to) {
  for (int i = 0; i < kCount; ++i) to[i] = scale * static_cast<float>(q[i]) + offset;
}

// The integers and scales of `count` blocks of 32 weights from number `first` on.
inline void SetScales(float d, uint32_t first, uint32_t count, WeightGroup* to) {
  for (uint32_t half = 2 * first; half < 2 * (first + count); ++half) {
    to->d[half] = d;
    to->scale[half] = 1;
  }
}

// kUnpackOne takes one block apart, whose first 32 weights are number `first` of the group.
template <typename Block>
using UnpackOne = void (*)(const Block& block, uint32_t first, WeightGroup* to);

template <typename Block, UnpackOne<Block> kUnpackOne>
void UnpackBlocks(const std::byte* from, size_t blocks, WeightGroup* to) {
  for (size_t i = 0; i < blocks; ++i) {
    kUnpackOne(*reinterpret_cast<const Block*>(from + i * sizeof(Block)),
               static_cast<uint32_t>(i * Block::kElements / 32), to);
  }
}

// `blocks` of 32 weights.
template <GroupKind kKind>
void GroupToFloats(const WeightGroup& group, size_t blocks, float* to) {
  for (size_t b = 0; b < blocks; ++b) {
    constexpr int kRun = kKind.halves || kKind.two_scales ? 16 : 32;
    for (size_t half = 2 * b; half < 2 * b + 32 / kRun; ++half) {
      const int8_t* const q = group.q + 16 * half;
      const float scale = group.d[half] * static_cast<float>(group.scale[half]);
      if constexpr (kKind.minima) {
        ScaleAndAdd<kRun>(q, scale, -(group.dmin[b] * static_cast<float>(group.minimum[half])),
                          to + 16 * half);
      } else {
        Scale<kRun>(q, scale, to + 16 * half);
      }
    }
  }
}

template <typename Block, UnpackOne<Block> kUnpackOne, GroupKind kKind>
void DecodeBlocks(const std::byte* from, size_t blocks, float* to) {
  constexpr size_t kAtOnce = WeightGroup::kWeights / Block::kElements;
  WeightGroup group;
  while (blocks > 0) {
    const size_t count = std::min(blocks, kAtOnce);
    UnpackBlocks<Block, kUnpackOne>(from, count, &group);
    GroupToFloats<kKind>(group, count * Block::kElements / 32, to);
    from += count * sizeof(Block);
    to += count * Block::kElements;
    blocks -= count;
  }
}

// The generator of payload bits, by counter, so that any part can be made on its own.
inline uint64_t NoiseWord(uint64_t key, uint64_t counter) {
  return Mix64(key + counter * kMixStep);
}

// Fills each block with noise, then lets kMakeValid set the fields that may not be just anything
// (the scales), from the block's own noise and one more word of it.
template <typename Block, void (*kMakeValid)(Block&, uint64_t noise)>
void GenerateBlocks(uint64_t seed, uint64_t first_block, size_t blocks, std::byte* to) {
  constexpr size_t kPayloadWords = (sizeof(Block) + 7) / 8;
  const uint64_t key = Mix64(seed);
  for (size_t i = 0; i < blocks; ++i) {
    const uint64_t counter = (first_block + i) * (kPayloadWords + 1);
    uint64_t words[kPayloadWords];
    for (size_t w = 0; w < kPayloadWords; ++w) words[w] = NoiseWord(key, counter + w);
    Block block;
    std::memcpy(&block, words, sizeof(block));
    kMakeValid(block, NoiseWord(key, counter + kPayloadWords));
    std::memcpy(to + i * sizeof(Block), &block, sizeof(block));
  }
}

// The scales of generated blocks. Aim: weights with a root mean square near 0.04, so that a few
// hundred to a few thousand inputs in [-1, 1) give outputs between 0.01 and 10. The argument is
// that of the format's integers under a scale of 1, in hundredths. The scale gets up to a quarter
// more and, since several formats have more levels on one side of zero, a random sign.
inline float GeneratedScale(int rms_hundredths, uint64_t noise) {
  constexpr float kAimHundredths = 4.0f;
  const float jitter = 1.0f + static_cast<float>(noise & 0xff) * 0x1p-10f;
  const float scale = kAimHundredths / static_cast<float>(rms_hundredths) * jitter;
  return (noise & 0x100) != 0 ? -scale : scale;
}
// For blocks whose F16 scale d is all that has to be set.
template <typename Block, int kRmsHundredths>
void SetScale(Block& block, uint64_t noise) {
  StoreU16(F32ToF16(GeneratedScale(kRmsHundredths, noise)), block.d);
}

template <typename Block, UnpackOne<Block> kUnpackOne, void (*kMakeValid)(Block&, uint64_t),
          GroupKind kKind = GroupKind{}>
constexpr Format MakeFormat(TensorType type, std::string_view name) {
  return {type,
          name,
          Block::kElements,
          static_cast<uint32_t>(sizeof(Block)),
          &DecodeBlocks<Block, kUnpackOne, kKind>,
          &GenerateBlocks<Block, kMakeValid>,
          &UnpackBlocks<Block, kUnpackOne>,
          kKind};
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_BLOCK_H_
