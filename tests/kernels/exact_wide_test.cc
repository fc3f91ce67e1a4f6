// The wide arithmetic's kernels: weights decoded to floats, and products of panels.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/exact/float_mode.h"
#include "kernels/formats/format.h"
#include "runtime/base/aligned_buffer.h"
#include "tests/kernels/exact_rows.h"

namespace berth::kernels {
namespace {

using testing::DrawValues;
using testing::Values;

bool SameOrNeitherANumber(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// Blocks as they are in files, or any bytes, in a vector that ends with the last of them.
std::vector<std::byte> DrawBlocks(const Format& format, size_t blocks, bool any,
                                  std::mt19937& random) {
  std::vector<std::byte> bytes(blocks * format.block_bytes);
  if (!any) {
    format.generate(random(), random() % 1000, blocks, bytes.data());
    return bytes;
  }
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Number of weights that differ.
size_t CountDifferent(const Format& format, Isa isa, const std::vector<std::byte>& bytes) {
  const size_t blocks = bytes.size() / format.block_bytes;
  const size_t count = blocks * format.block_elements;
  constexpr float kUntouched = 0x1.23p+45f;
  std::vector<float> expected(count), got(count + 1, kUntouched);
  format.decode(bytes.data(), blocks, expected.data());
  KernelsOf(isa).decode(format.type)(format, bytes.data(), blocks, got.data());
  EXPECT_EQ(got[count], kUntouched) << "writes too much";
  size_t different = 0;
  for (size_t i = 0; i < count; ++i) different += !SameOrNeitherANumber(expected[i], got[i]);
  return different;
}

TEST(WideDecode, EveryInstructionSetGivesTheBitsOfTheFormat) {
  const FloatMode mode;
  std::mt19937 random(11);
  for (const Format& format : Formats()) {
    for (const Isa isa : UsableIsas()) {
      for (uint32_t round = 0; round < 120; ++round) {
        const size_t most = 800 / format.block_elements + 1;
        const size_t blocks = 1 + random() % most;
        const std::vector<std::byte> bytes = DrawBlocks(format, blocks, round % 4 != 0, random);
        ASSERT_EQ(CountDifferent(format, isa, bytes), 0u)
            << format.name << " on " << IsaName(isa) << ", " << blocks << " blocks";
      }
    }
  }
}

// Every bit of a block matters to some weight, in all sets alike.
TEST(WideDecode, AFlippedBitGivesTheSameBits) {
  const FloatMode mode;
  std::mt19937 random(12);
  for (const Format& format : Formats()) {
    std::vector<std::byte> bytes = DrawBlocks(format, 1, false, random);
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const std::byte flip = std::byte{1} << (bit % 8);
      bytes[bit / 8] ^= flip;
      for (const Isa isa : UsableIsas()) {
        ASSERT_EQ(CountDifferent(format, isa, bytes), 0u)
            << format.name << " on " << IsaName(isa) << ", bit " << bit;
      }
      bytes[bit / 8] ^= flip;
    }
  }
}

struct WideCase {
  uint32_t rows, cols, panels;
  Values values;
};

std::vector<uint32_t> RunWide(const WideCase& wide, Isa isa, uint32_t seed) {
  std::mt19937 random(seed);
  const auto fill = [&](size_t count, AlignedBuffer<float>* to) {
    const std::vector<float> values = DrawValues(wide.values, count, random);
    std::copy(values.begin(), values.end(), to->data());
  };
  const size_t panel_stride = size_t{wide.cols + 3} * kWideLanes;
  const size_t sum_count = size_t{wide.panels} * kWideRows * kWideLanes;
  AlignedBuffer<float> weights(kWideRows * kWideCols), panels(wide.panels * panel_stride),
      sums(sum_count);
  fill(kWideRows * kWideCols, &weights);
  fill(wide.panels * panel_stride, &panels);
  fill(sum_count, &sums);
  if (wide.values == Values::kHostile) panels.data()[random() % (wide.cols * kWideLanes)] = NAN;
  WideCall call;
  call.weights = weights.data();
  call.rows = wide.rows;
  call.cols = wide.cols;
  call.panels = panels.data();
  call.panel_stride = panel_stride;
  call.panel_count = wide.panels;
  call.sums = sums.data();
  KernelsOf(isa).wide(call);
  std::vector<uint32_t> bits(sum_count);
  std::memcpy(bits.data(), sums.data(), sum_count * sizeof(float));
  return bits;
}

TEST(WideProducts, EveryInstructionSetGivesTheBitsOfTheScalarOne) {
  const FloatMode mode;
  for (uint32_t rows = 1; rows <= kWideRows; ++rows) {
    for (const uint32_t cols : {1u, 31u, 32u, 160u, 256u}) {
      for (uint32_t panels = 1; panels <= 3; ++panels) {
        for (const Values values : {Values::kOrdinary, Values::kHostile}) {
          const WideCase wide = {rows, cols, panels, values};
          const std::vector<uint32_t> expected = RunWide(wide, Isa::kScalar, rows + cols);
          for (const Isa isa : UsableIsas()) {
            ASSERT_EQ(RunWide(wide, isa, rows + cols), expected)
                << IsaName(isa) << ", " << rows << " rows, " << cols << " columns, " << panels
                << " panels";
          }
        }
      }
    }
  }
}

TEST(WideProducts, AddsColumnsInAscendingOrderToWhatIsThere) {
  const FloatMode mode;
  AlignedBuffer<float> weights(kWideRows * kWideCols), panel(3 * kWideLanes),
      sums(kWideRows * kWideLanes);
  // In any other order the 1 would survive.
  const float w[3] = {1.0f, 0x1p30f, -0x1p30f};
  std::copy(w, w + 3, weights.data());
  std::fill_n(panel.data(), 3 * kWideLanes, 1.0f);
  std::fill_n(sums.data(), kWideRows * kWideLanes, 0.5f);
  WideCall call;
  call.weights = weights.data();
  call.rows = 1;
  call.cols = 3;
  call.panels = panel.data();
  call.panel_stride = 3 * kWideLanes;
  call.panel_count = 1;
  call.sums = sums.data();
  for (const Isa isa : UsableIsas()) {
    std::fill_n(sums.data(), kWideRows * kWideLanes, 0.5f);
    KernelsOf(isa).wide(call);
    for (uint32_t lane = 0; lane < kWideLanes; ++lane) ASSERT_EQ(sums.data()[lane], 0.0f);
    EXPECT_EQ(sums.data()[kWideLanes], 0.5f) << "writes rows that are not there";
  }
}

}  // namespace
}  // namespace berth::kernels
