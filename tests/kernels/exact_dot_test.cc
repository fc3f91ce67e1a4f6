// The exact dot products: the scalar ones against the sum that they stand for in double precision,
// all others against the scalar ones, bit for bit, whatever the bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <tuple>

#include "kernels/exact/exact_kernels.h"
#include "kernels/exact/float_mode.h"
#include "kernels/formats/format.h"
#include "tests/kernels/exact_rows.h"

namespace berth::kernels {

void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

namespace {

using testing::DrawValues;
using testing::QuantizedRows;
using testing::Values;

// Bytes on the heap, exactly as many: a sanitizer sees a read past them.
struct Weights {
  std::vector<std::byte> bytes;
  size_t row_bytes = 0;
};

enum class Blocks { kValid, kNoise, kZero };

Weights MakeWeights(const Format& format, Blocks kind, uint32_t rows, uint32_t cols,
                    std::mt19937& random) {
  Weights weights;
  weights.row_bytes = size_t{cols} / format.block_elements * format.block_bytes;
  weights.bytes.resize(rows * weights.row_bytes);
  if (kind == Blocks::kValid) {
    format.generate(random(), 0, size_t{rows} * cols / format.block_elements, weights.bytes.data());
  } else if (kind == Blocks::kNoise) {
    for (std::byte& byte : weights.bytes) byte = static_cast<std::byte>(random());
  }
  weights.bytes.shrink_to_fit();
  return weights;
}

std::vector<float> RunDot(Isa isa, const Format& format, const Weights& weights, uint32_t cols,
                          uint32_t weight_rows, const std::vector<std::vector<float>>& x) {
  const ExactKernels& kernels = KernelsOf(isa);
  const QuantizedRows rows(kernels, x);
  const size_t stride = weight_rows + 3;
  std::vector<float> out(x.size() * stride, -12345.0f);
  DotCall call;
  call.format = &format;
  call.weights = weights.bytes.data();
  call.row_bytes = weights.row_bytes;
  call.weight_rows = weight_rows;
  call.cols = cols;
  call.rows = rows.rows().data();
  call.row_count = static_cast<uint32_t>(x.size());
  call.out = out.data();
  call.out_stride = stride;
  kernels.dot(format.type)(call);
  std::vector<float> results;
  for (size_t r = 0; r < x.size(); ++r) {
    for (size_t w = 0; w < stride; ++w) {
      if (w < weight_rows) {
        results.push_back(out[r * stride + w]);
      } else {
        EXPECT_EQ(out[r * stride + w], -12345.0f) << "written beyond the rows";
      }
    }
  }
  return results;
}

std::string FormatName(const ::testing::TestParamInfo<Format>& info) {
  return std::string(info.param.name);
}

class ExactDot : public ::testing::TestWithParam<Format> {
 protected:
  FloatMode mode_;
};

TEST_P(ExactDot, ScalarIsTheSumInDoublePrecisionOfWhatWasQuantized) {
  const Format& format = GetParam();
  std::mt19937 random(1);
  const uint32_t cols = 1024, weight_rows = 7;
  const Weights weights = MakeWeights(format, Blocks::kValid, weight_rows, cols, random);
  std::vector<std::vector<float>> x;
  for (int r = 0; r < 3; ++r) x.push_back(DrawValues(Values::kOrdinary, cols, random));
  const std::vector<float> got = RunDot(Isa::kScalar, format, weights, cols, weight_rows, x);
  const QuantizedRows rows(KernelsOf(Isa::kScalar), x);
  std::vector<float> decoded(cols);
  double worst = 0;
  for (uint32_t w = 0; w < weight_rows; ++w) {
    format.decode(weights.bytes.data() + w * weights.row_bytes, cols / format.block_elements,
                  decoded.data());
    for (size_t r = 0; r < x.size(); ++r) {
      double sum = 0, magnitude = 0;
      for (uint32_t i = 0; i < cols; ++i) {
        const ActivationRow& row = rows.rows()[r];
        const double activation =
            format.unpack == nullptr ? row.x[i] : static_cast<double>(row.d[i / 32]) * row.q[i];
        sum += decoded[i] * activation;
        magnitude += std::abs(decoded[i] * activation);
      }
      const double error = std::abs(got[r * weight_rows + w] - sum) / magnitude;
      worst = std::max(worst, error);
      EXPECT_LT(error, 1e-6) << "row " << w;
    }
  }
  EXPECT_GT(worst, 0) << "an error of exactly zero everywhere is suspicious";
}

TEST_P(ExactDot, EveryInstructionSetGivesTheBitsOfTheScalarOne) {
  const Format& format = GetParam();
  std::mt19937 random(2);
  for (const Isa isa : UsableIsas()) {
    for (int trial = 0; trial < 120; ++trial) {
      const uint32_t blocks =
          1 + random() % (trial % 3 == 0 ? 2600 / format.block_elements + 1 : 9);
      const uint32_t cols = blocks * format.block_elements;
      const uint32_t weight_rows = 1 + random() % 5;
      const auto kind = static_cast<Blocks>(random() % 8 == 0 ? 2 : random() % 2);
      const Values values = random() % 2 == 0 ? Values::kOrdinary : Values::kHostile;
      const Weights weights = MakeWeights(format, kind, weight_rows, cols, random);
      std::vector<std::vector<float>> x(1 + random() % kMaxDotRows);
      for (std::vector<float>& row : x) row = DrawValues(values, cols, random);
      const std::vector<float> expected =
          RunDot(Isa::kScalar, format, weights, cols, weight_rows, x);
      const std::vector<float> got = RunDot(isa, format, weights, cols, weight_rows, x);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(expected[i]))
            << IsaName(isa) << " trial " << trial << " cols " << cols << " rows " << x.size()
            << " result " << i << ": " << got[i] << " for " << expected[i];
      }
    }
  }
}

// Kernels that go through weight rows in bunches, and that arrange activations for as many columns
// or rows as they have room for.
TEST_P(ExactDot, LongRowsAndManyWeightRowsGiveTheSameBits) {
  struct Shape {
    uint32_t cols, weight_rows, rows;
  };
  const Format& format = GetParam();
  std::mt19937 random(4);
  for (const auto& [cols, weight_rows, rows] : {Shape{4096, 67, 1},
                                                {4096, 67, 2},
                                                {8960, 67, 1},
                                                {8960, 67, 2},
                                                {7936, 3, kMaxDotRows},
                                                {24832, 3, kMaxDotRows},
                                                {49408, 3, kMaxDotRows}}) {
    const Weights weights = MakeWeights(format, Blocks::kValid, weight_rows, cols, random);
    std::vector<std::vector<float>> x(rows);
    for (std::vector<float>& row : x) row = DrawValues(Values::kOrdinary, cols, random);
    const std::vector<float> expected = RunDot(Isa::kScalar, format, weights, cols, weight_rows, x);
    for (const Isa isa : UsableIsas()) {
      const std::vector<float> got = RunDot(isa, format, weights, cols, weight_rows, x);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(expected[i]))
            << IsaName(isa) << " cols " << cols << " rows " << rows << " result " << i;
      }
    }
  }
}

TEST_P(ExactDot, AFlippedBitOfAWeightOrOfAnActivationShows) {
  const Format& format = GetParam();
  std::mt19937 random(3);
  const uint32_t cols = 512;
  Weights weights = MakeWeights(format, Blocks::kValid, 1, cols, random);
  std::vector<std::vector<float>> x = {DrawValues(Values::kOrdinary, cols, random)};
  for (const Isa isa : UsableIsas()) {
    const float before = RunDot(isa, format, weights, cols, 1, x)[0];
    // Weights of zero hide theirs.
    size_t seen = 0;
    for (uint32_t col = cols - 32; col < cols; ++col) {
      x[0][col] = -x[0][col];
      seen += RunDot(isa, format, weights, cols, 1, x)[0] != before ? 1 : 0;
      x[0][col] = -x[0][col];
    }
    EXPECT_GE(seen, 12u) << IsaName(isa);
    seen = 0;
    for (size_t byte = 0; byte < weights.bytes.size(); ++byte) {
      weights.bytes[byte] ^= std::byte{1};
      seen += RunDot(isa, format, weights, cols, 1, x)[0] != before ? 1 : 0;
      weights.bytes[byte] ^= std::byte{1};
    }
    // A few bits may not matter (a sub-scale of values that cancel).
    EXPECT_GT(seen, weights.bytes.size() * 9 / 10) << IsaName(isa);
  }
}

// A minimum times a sum that underflows from below leaves -0 in every lane.
TEST(ExactDotOfTinyMinima, NegativeZeroOutlivesTheEndOfARow) {
  const FloatMode mode;
  const Format& format = *FindFormat(TensorType::kQ4_1);
  for (const uint32_t cols : {96u, 256u, 384u, 416u}) {
    Weights weights;
    weights.row_bytes = size_t{cols} / format.block_elements * format.block_bytes;
    weights.bytes.resize(weights.row_bytes);
    for (size_t block = 0; block < weights.bytes.size(); block += format.block_bytes) {
      weights.bytes[block + 2] = std::byte{0x01};  // the F16 nearest to zero from below
      weights.bytes[block + 3] = std::byte{0x80};
    }
    const std::vector<std::vector<float>> x = {std::vector<float>(cols, 1e-42f)};
    const uint32_t expected =
        std::bit_cast<uint32_t>(RunDot(Isa::kScalar, format, weights, cols, 1, x)[0]);
    EXPECT_EQ(expected, cols < 256 ? 0u : 0x80000000u);
    for (const Isa isa : UsableIsas()) {
      const float got = RunDot(isa, format, weights, cols, 1, x)[0];
      EXPECT_EQ(std::bit_cast<uint32_t>(got), expected) << IsaName(isa) << " cols " << cols;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ExactDot, ::testing::ValuesIn(Formats().begin(), Formats().end()),
                         FormatName);

}  // namespace
}  // namespace berth::kernels
