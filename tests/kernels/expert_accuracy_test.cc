// How far the exact arithmetic is from double precision, per type: the error that 8-bit activations
// bring, no more and not suspiciously less.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "kernels/expert/host_expert.h"
#include "kernels/formats/format.h"
#include "tests/kernels/expert_model.h"

namespace berth::kernels {
namespace {

using testing::Grouping;
using testing::Layer;
using testing::LayerOptions;
using testing::TestPool;

struct Errors {
  double rms = 0;      // root mean square of the error over that of the outputs
  double largest = 0;  // largest error over the largest output
};

// Eight rows, each routed to all of three experts.
Errors Measure(TensorType type) {
  LayerOptions options;
  options.gate_up_type = options.down_type = type;
  options.experts = 3;
  options.hidden = 1024;
  options.ffn = 512;
  const Layer layer(options);
  constexpr uint32_t kRows = 8;
  const std::vector<float> x =
      testing::RandomValues(type == TensorType::kF16 ? 6 : 5, uint64_t{kRows} * options.hidden);
  std::vector<int32_t> ids;
  for (uint32_t pair = 0; pair < kRows * 3; ++pair) ids.push_back(static_cast<int32_t>(pair % 3));
  const Grouping grouping = testing::GroupBackwards(ids, layer);
  TestPool pool(1);
  HostExpertWorkspace workspace(&pool, options.hidden, options.ffn, kRows * 3);
  std::vector<float> partials(ids.size() * options.hidden, NAN);
  GroupedCall call;
  call.spec = &layer.spec;
  call.units = grouping.units.data();
  call.unit_count = static_cast<uint32_t>(grouping.units.size());
  call.pairs = grouping.pairs.data();
  call.top_k = 3;
  call.x = x.data();
  call.partials = partials.data();
  EXPECT_TRUE(workspace.Run(call, grouping.addresses).ok());

  double error_squares = 0, squares = 0, worst = 0, largest = 0;
  for (uint32_t expert = 0; expert < 3; ++expert) {
    const testing::DecodedUnit unit(layer.spec, layer.units[expert].data());
    for (uint32_t row = 0; row < kRows; ++row) {
      const std::vector<double> want = testing::ReferenceExpert(
          layer.spec, unit, expert,
          std::span<const float>(&x[uint64_t{row} * options.hidden], options.hidden), 1);
      const float* const got = &partials[(uint64_t{row} * 3 + expert) * options.hidden];
      for (uint32_t i = 0; i < options.hidden; ++i) {
        const double error = std::abs(got[i] - want[i]);
        error_squares += error * error;
        squares += want[i] * want[i];
        worst = error <= worst ? worst : error;
        largest = std::max(largest, std::abs(want[i]));
      }
    }
  }
  return {std::sqrt(error_squares / squares), worst / largest};
}

TEST(ExpertAccuracy, IsThatOfActivationsInEightBits) {
  std::printf("%-8s  error: rms over rms of outputs   largest over largest output\n", "type");
  for (const Format& format : Formats()) {
    const Errors errors = Measure(format.type);
    std::printf("%-8s  %26.3f %%  %26.3f %%\n", std::string(format.name).c_str(), 100 * errors.rms,
                100 * errors.largest);
    if (format.unpack == nullptr) {  // F16, BF16: activations as they are
      EXPECT_LT(errors.largest, 1e-5) << format.name;
      EXPECT_GT(errors.largest, 0) << format.name;
      continue;
    }
    // Rounding to 254 steps of the largest of 32 uniform values is an error of 0.4 % of their root
    // mean square, in gate and in up; the input of down, a product, has a longer tail: 0.7 %.
    EXPECT_LT(errors.rms, 1.2e-2) << format.name;
    EXPECT_GT(errors.rms, 2e-3) << format.name;
    EXPECT_LT(errors.largest, 2e-2) << format.name;
  }
}

}  // namespace
}  // namespace berth::kernels
