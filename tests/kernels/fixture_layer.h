// Layers of experts whose weights others wrote, and whose results others know: of GGUF files of the
// format's reference writer, and of its reference quantizer's blocks.
#ifndef BERTH_TESTS_KERNELS_FIXTURE_LAYER_H_
#define BERTH_TESTS_KERNELS_FIXTURE_LAYER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/kernels/expert_model.h"
#include "tests/kernels/gguf_fixture.h"
#include "tests/kernels/safetensors_fixture.h"

namespace berth::kernels::testing {

// The shards of one model.
class FixtureModel {
 public:
  void Load(const std::string& path);
  // Null where no shard has it.
  const berth::testing::GgufTensor* Find(const std::string& name) const;
  // A block's experts; none where no shard holds them.
  Layer LoadLayer(uint32_t block, const ExpertConventions& conventions) const;

 private:
  std::vector<std::unique_ptr<berth::testing::GgufFixture>> shards_;
};

// Experts made of the reference quantizer's blocks of one type, and the same weights as its
// reference decoder gives them: no decoder of ours has a part in what a result is held against.
struct GoldenLayer {
  GoldenLayer(const berth::testing::SafetensorsFixture& golden, const Format& format,
              uint32_t experts, uint32_t hidden, uint32_t ffn);

  Layer layer;
  std::vector<DecodedUnit> units;  // by expert
};

// How far results are from double precision.
struct DoubleError {
  double rms = 0;      // root mean square of the error over that of what was wanted
  double largest = 0;  // largest error over the largest value wanted
};
class DoubleComparison {
 public:
  void Add(double got, double want);
  DoubleError error() const;

 private:
  double errors_ = 0, squares_ = 0, worst_ = 0, largest_ = 0;
};

}  // namespace berth::kernels::testing

#endif  // BERTH_TESTS_KERNELS_FIXTURE_LAYER_H_
