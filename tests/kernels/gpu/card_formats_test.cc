// The decoders that kernels of a card are made of, run here: every word and scale against
// Format::unpack, bit by bit, from blocks at any address. Compiled twice, for both flavours of byte
// permutes (card_bits.h).
#include "kernels/gpu/formats/card_formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/formats/format.h"

namespace berth::kernels::gpu {
namespace {

template <TensorType kType, typename Decoder>
struct Case {
  static constexpr TensorType kTensorType = kType;
  using Card = Decoder;
};

// Blocks that end where the heap does, rounded up to words, and begin `offset` behind a multiple
// of 4.
class Blocks {
 public:
  Blocks(size_t offset, const std::vector<std::byte>& bytes)
      : words_((offset + bytes.size() + 3) / 4), offset_(offset) {
    std::memcpy(reinterpret_cast<uint8_t*>(words_.data()) + offset, bytes.data(), bytes.size());
  }
  const uint8_t* at() const { return reinterpret_cast<const uint8_t*>(words_.data()) + offset_; }

 private:
  std::vector<uint32_t> words_;
  size_t offset_;
};

// 256 weights of noise or of what the format's generator makes.
template <typename Decoder>
std::vector<std::byte> DrawGroup(const Format& format, bool noise, std::mt19937& random) {
  const size_t blocks = 256 / Decoder::kElements;
  std::vector<std::byte> bytes(blocks * Decoder::kBytes);
  if (noise) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  } else {
    format.generate(random(), 0, blocks, bytes.data());
  }
  return bytes;
}

template <typename Case>
class CardFormats : public ::testing::Test {
 protected:
  using Decoder = typename Case::Card;

  CardFormats() : format_(*FindFormat(Case::kTensorType)) {
    table_words_.resize(size_t{Decoder::kTableWords} * kCopies);
    for (uint32_t i = 0; i < table_words_.size(); ++i) {
      table_words_[i] = Decoder::TableWord(i / kCopies);
    }
    table_ = {table_words_.data() + 1, kCopies};
  }

  static uint32_t WordOf(const WeightGroup& group, uint32_t block, uint32_t i) {
    uint32_t word;
    std::memcpy(&word, group.q + 32 * block + 4 * i, sizeof(word));
    return word;
  }

  void CheckScales(const WeightGroup& group, uint32_t block, const BlockScales& got) const {
    // Which NaN an operation gives is the processor's business.
    const auto same = [](float a, float b) {
      return (a != a && b != b) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
    };
    constexpr GroupKind kKind = Decoder::kKind;
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t i = 2 * block + half;
      if (half == 0 || kKind.two_scales) {
        EXPECT_TRUE(same(got.d[half], group.d[i])) << got.d[half] << ", not " << group.d[i];
      }
      if (half == 1 && !kKind.halves) continue;
      if (kKind.scales) {
        EXPECT_EQ(got.scale[half], group.scale[i]);
      }
      if (kKind.minima) {
        const float minimum = group.dmin[block] * static_cast<float>(group.minimum[i]);
        EXPECT_TRUE(same(got.minimum[half], minimum)) << got.minimum[half] << ", not " << minimum;
      }
    }
  }

  static void CheckPair(const WeightGroup& group, uint32_t block, uint32_t t,
                        const uint32_t (&pair)[2]) {
    constexpr bool kApart = Decoder::kKind.halves || Decoder::kKind.two_scales;
    EXPECT_EQ(pair[0], WordOf(group, block, kApart ? t : 2 * t)) << "lane " << t;
    EXPECT_EQ(pair[1], WordOf(group, block, kApart ? 4 + t : 2 * t + 1)) << "lane " << t;
  }

  // Block `block` of the group at `at`, through the entry points for 32 weights.
  template <Reading kHow>
  void CheckOne(const uint8_t* at, const WeightGroup& group, uint32_t block) const {
    constexpr uint32_t kSubs = Decoder::kElements / 32;
    const uint8_t* const from = at + block / kSubs * Decoder::kBytes;
    const uint32_t sub = block % kSubs;
    uint32_t words[8];
    Decoder::template Words<kHow>(from, sub, table_, words);
    for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(words[i], WordOf(group, block, i)) << "word " << i;
    for (uint32_t t = 0; t < 4; ++t) {
      uint32_t pair[2];
      Decoder::template Pair<kHow>(from, sub, t, table_, pair);
      CheckPair(group, block, t, pair);
    }
    BlockScales scales;
    Decoder::template Scales<kHow>(from, sub, &scales);
    CheckScales(group, block, scales);
  }

  // Blocks `block` and `block` + 1.
  template <Reading kHow>
  void CheckTwo(const uint8_t* at, const WeightGroup& group, uint32_t block) const {
    constexpr uint32_t kSubs = Decoder::kElements / 32;
    const uint8_t* const from = at + block / kSubs * Decoder::kBytes;
    uint32_t words[2][8];
    BlockScales scales[2];
    Decoder::template WordsOfTwo<kHow>(from, block % kSubs, table_, words);
    Decoder::template ScalesOfTwo<kHow>(from, block % kSubs, scales);
    for (uint32_t two = 0; two < 2; ++two) {
      for (uint32_t t = 0; t < 4; ++t) {
        uint32_t pairs[2][2];
        Decoder::template PairOfTwo<kHow>(from, block % kSubs, t, table_, pairs);
        CheckPair(group, block + two, t, pairs[two]);
      }
      for (uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(words[two][i], WordOf(group, block + two, i)) << "word " << i << " of " << two;
      }
      CheckScales(group, block + two, scales[two]);
    }
  }

  // What is known of the address of a block goes for that block: blocks of 18 bytes take turns.
  template <Reading kHow>
  void CheckBlock(const uint8_t* at, const WeightGroup& group, uint32_t block) const {
    CheckOne<kHow>(at, group, block);
    if (block % 2 == 0) CheckTwo<kHow>(at, group, block);
  }

  void CheckGroup(size_t offset, const std::vector<std::byte>& bytes) const {
    const Blocks blocks(offset, bytes);
    WeightGroup group;
    format_.unpack(bytes.data(), 256 / Decoder::kElements, &group);
    for (uint32_t block = 0; block < 8; ++block) {
      SCOPED_TRACE(testing::Message()
                   << format_.name << " block " << block << " offset " << offset);
      const size_t first = offset + block * 32 / Decoder::kElements * Decoder::kBytes;
      CheckBlock<Reading::kBytes>(blocks.at(), group, block);
      if (first % 2 == 0) CheckBlock<Reading::kEvens>(blocks.at(), group, block);
      if (first % 4 == 0) CheckBlock<Reading::kWords>(blocks.at(), group, block);
      // Of formats whose rows then lie so, too.
      if constexpr (Decoder::kBytes % 8 == 0) {
        if (first % 8 == 0) CheckBlock<Reading::kEights>(blocks.at(), group, block);
      }
      if constexpr (Decoder::kBytes % 16 == 0) {
        if (first % 16 == 0) CheckBlock<Reading::kSixteens>(blocks.at(), group, block);
      }
      if (first % 4 == 2) CheckBlock<Reading::kHalves>(blocks.at(), group, block);
      if (this->HasFailure()) return;
    }
  }

  static constexpr uint32_t kCopies = 3;
  const Format& format_;
  std::vector<uint32_t> table_words_;
  CardTable table_;
};

// A list with an end that is dropped: the macro puts a comma behind each case.
template <typename... Kept>
struct Dropped {
  using Types = ::testing::Types<Kept...>;
};
template <typename List, typename... Cases>
struct DropLast;
template <typename... Kept, typename Last>
struct DropLast<Dropped<Kept...>, Last> : Dropped<Kept...> {};
template <typename... Kept, typename Next, typename... Rest>
struct DropLast<Dropped<Kept...>, Next, Rest...> : DropLast<Dropped<Kept..., Next>, Rest...> {};
#define BERTH_CASE(type, decoder) Case<TensorType::type, decoder>,
using AllCases = DropLast<Dropped<>, BERTH_FOR_EACH_CARD_FORMAT(BERTH_CASE) void>::Types;
#undef BERTH_CASE

struct CaseName {
  template <typename Case>
  static std::string GetName(int) {
    return std::string(FindFormat(Case::kTensorType)->name);
  }
};
TYPED_TEST_SUITE(CardFormats, AllCases, CaseName);

TYPED_TEST(CardFormats, ConstantsAreThoseOfTheFormat) {
  using Decoder = typename TypeParam::Card;
  const Format& format = this->format_;
  EXPECT_EQ(Decoder::kElements, format.block_elements);
  EXPECT_EQ(Decoder::kBytes, format.block_bytes);
  EXPECT_EQ(Decoder::kKind.scales, format.kind.scales);
  EXPECT_EQ(Decoder::kKind.halves, format.kind.halves);
  EXPECT_EQ(Decoder::kKind.minima, format.kind.minima);
  EXPECT_EQ(Decoder::kKind.two_scales, format.kind.two_scales);
}

TYPED_TEST(CardFormats, GivesTheBitsThatUnpackGives) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto bytes = DrawGroup<typename TypeParam::Card>(this->format_, round % 4 != 0, random);
    for (size_t offset = 0; offset < 4; ++offset) {
      this->CheckGroup(offset, bytes);
      if (this->HasFailure()) return;
    }
  }
}

// Enough noise to look up every word of the largest table.
TYPED_TEST(CardFormats, LooksUpEveryPoint) {
  using Decoder = typename TypeParam::Card;
  constexpr uint32_t kSubs = Decoder::kElements / 32;
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    const auto bytes = DrawGroup<Decoder>(this->format_, true, random);
    const Blocks blocks(0, bytes);
    WeightGroup group;
    this->format_.unpack(bytes.data(), 256 / Decoder::kElements, &group);
    for (uint32_t block = 0; block < 8; ++block) {
      uint32_t words[8];
      Decoder::template Words<Reading::kBytes>(blocks.at() + block / kSubs * Decoder::kBytes,
                                               block % kSubs, this->table_, words);
      ASSERT_EQ(std::memcmp(words, group.q + 32 * block, sizeof(words)), 0) << "block " << block;
    }
  }
}

}  // namespace
}  // namespace berth::kernels::gpu
