// How wide units' weights become BF16, bit by bit against what docs/arithmetic.md says ("Wide"):
// every format, from blocks at any address that it is read at, by every lane's table copies.
#include "kernels/gpu/wide_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/formats/format.h"
#include "kernels/formats/half.h"
#include "kernels/gpu/formats/card_formats.h"

namespace berth::kernels::gpu {
namespace {

uint32_t Rounded(float value) { return Bfloat16Pair(value, 0.0f) & 0xffff; }
float Float(uint32_t bits) { return Bfloat16ToFloat(bits); }

// Weight i of a group.
uint32_t Defined(const WeightGroup& group, GroupKind kind, uint32_t i) {
  const uint32_t half = i / 16, part = kind.halves ? half : half / 2 * 2;
  const float d = group.d[kind.two_scales ? half : half / 2 * 2];
  const float s = kind.scales ? d * static_cast<float>(group.scale[part]) : d;
  const auto w = static_cast<float>(group.q[i]);
  if (!kind.minima) return Rounded(Float(Rounded(s)) * w);
  const float minimum = group.dmin[i / 32] * static_cast<float>(group.minimum[part]);
  return Rounded(std::fma(128.0f + w, s, std::fma(-128.0f, s, -minimum)));
}

// Zeros have no sign here, and what an infinite scale makes is not looked into.
bool Same(uint32_t got, uint32_t want) {
  return Float(got) == Float(want) || (!std::isfinite(Float(got)) && !std::isfinite(Float(want)));
}

template <TensorType kType, typename F>
struct Case {
  static constexpr TensorType kTensorType = kType;
  using Card = F;
};
template <typename Case>
class WideWeights : public ::testing::Test {
 protected:
  using F = typename Case::Card;
  static constexpr bool kAny = kLie<F> == Lie::kAny;
  static constexpr Reading kHow = kAny                     ? Reading::kBytes
                                  : kLie<F> == Lie::kWords ? Reading::kWords
                                                           : Reading::kEvens;

  WideWeights() : own_(kWideTableWords<F> / 4), words_(size_t{F::kTableWords} * kCopies) {
    // As a block of so many threads does it.
    for (uint32_t thread = 0; thread < 96; ++thread) {
      FillWideTables<F>(reinterpret_cast<uint32_t*>(own_.data()), thread, 96);
    }
    for (uint32_t i = 0; i < words_.size(); ++i) words_[i] = F::TableWord(i / kCopies);
  }

  // Block `block` of 32 weights of the 256 at `at`, by lane `lane`.
  void Check(const uint8_t* at, const WeightGroup& group, uint32_t block, uint32_t lane) const {
    constexpr uint32_t kSubs = F::kElements / 32;
    const CardTable table = {words_.data() + 1, kCopies};
    WideLookups lookups;
    if constexpr (kHasWidePoints<F>) {
      lookups = WideLookupsOf<F>(reinterpret_cast<const uint32_t*>(own_.data()), lane);
    }
    WideBlockOf<F> weights;
    weights.template Load<kHow>(at + block / kSubs * F::kBytes, block % kSubs, table);
    uint32_t got[4][4];
    weights.template Take<0>(lookups, got[0]);
    weights.template Take<1>(lookups, got[1]);
    weights.template Take<2>(lookups, got[2]);
    weights.template Take<3>(lookups, got[3]);
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t want = Defined(group, F::kKind, 32 * block + i);
      const uint32_t have = got[i / 8][i % 8 / 2] >> (16 * (i % 2)) & 0xffff;
      ASSERT_TRUE(Same(have, want))
          << "weight " << i << ": " << Float(have) << ", not " << Float(want);
    }
  }

  static constexpr uint32_t kCopies = 2;
  std::vector<FourWords> own_;
  std::vector<uint32_t> words_;
};

TYPED_TEST_SUITE_P(WideWeights);

TYPED_TEST_P(WideWeights, AreAsDefined) {
  using F = typename TypeParam::Card;
  const Format& format = *FindFormat(TypeParam::kTensorType);
  constexpr size_t kBlocks = 256 / F::kElements, kBytes = kBlocks * F::kBytes;
  const uint32_t step = this->kAny ? 1 : kLie<F> == Lie::kWords ? 4 : 2;
  std::mt19937 random(7);
  for (uint32_t round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes(kBytes);
    if (round % 2 == 0) {
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    } else {
      format.generate(random(), 0, kBlocks, bytes.data());
    }
    WeightGroup group;
    format.unpack(bytes.data(), kBlocks, &group);
    const uint32_t offset = round % (4 / step) * step;
    std::vector<uint32_t> place((offset + kBytes + 3) / 4);
    auto* const at = reinterpret_cast<uint8_t*>(place.data()) + offset;
    std::memcpy(at, bytes.data(), kBytes);
    for (uint32_t block = 0; block < 8; ++block) {
      this->Check(at, group, block, random() % 32);
      if (this->HasFatalFailure()) return;
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(WideWeights, AreAsDefined);
#define BERTH_TEST_CASE(name, Decoder) , Case<TensorType::name, Decoder>
template <typename First, typename... Others>
using TypesBehind = ::testing::Types<Others...>;
using Cases = TypesBehind<void BERTH_FOR_EACH_TUNED_CARD_FORMAT(BERTH_TEST_CASE)>;
#undef BERTH_TEST_CASE
INSTANTIATE_TYPED_TEST_SUITE_P(GpuWide, WideWeights, Cases);

// Every weight by every scale: what is taken off behind the product must not show.
TEST(GpuWideWeights, EightBitsByEveryScale) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float d = F16ToF32(static_cast<uint16_t>(half));
    if (!std::isfinite(d)) continue;
    const float s = Float(Rounded(d));
    for (uint32_t first = 0; first < 256; first += 32) {
      uint32_t block[9];  // d lies 2 behind a multiple of 4
      auto* const bytes = reinterpret_cast<uint8_t*>(block);
      std::memcpy(bytes + 2, &half, 2);
      for (uint32_t i = 0; i < 32; ++i) bytes[4 + i] = static_cast<uint8_t>(first + i);
      WideBlockOf<CardQ8_0> weights;
      weights.Load<Reading::kEvens>(bytes + 2, 0, {});
      uint32_t got[4][4];
      weights.Take<0>({}, got[0]);
      weights.Take<1>({}, got[1]);
      weights.Take<2>({}, got[2]);
      weights.Take<3>({}, got[3]);
      for (uint32_t i = 0; i < 32; ++i) {
        const auto w = static_cast<int8_t>(first + i);
        const uint32_t have = got[i / 8][i % 8 / 2] >> (16 * (i % 2)) & 0xffff;
        const uint32_t want = Rounded(s * static_cast<float>(w));
        ASSERT_TRUE(Same(have, want)) << d << " times " << static_cast<int>(w);
      }
    }
  }
}

}  // namespace
}  // namespace berth::kernels::gpu
