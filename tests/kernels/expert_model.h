// What the tests of the grouped expert call share: a small layer of experts built by hand, its
// result in double precision, and a worker pool.
#ifndef BERTH_TESTS_KERNELS_EXPERT_MODEL_H_
#define BERTH_TESTS_KERNELS_EXPERT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/expert/expert_spec.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/host/worker_pool.h"

namespace berth::kernels::testing {

// Runs the pieces on threads made for the call, in whatever order they come; with one thread on
// the caller, without allocating.
class TestPool : public WorkerPool {
 public:
  explicit TestPool(uint32_t threads) : threads_(threads) {}
  uint32_t thread_count() const override { return threads_; }
  void ParallelFor(uint32_t count, uint32_t grain, Task task, void* context) override;

 private:
  uint32_t threads_;
};

enum class Fused { kNo, kGateFirst, kUpFirst };

struct LayerOptions {
  TensorType gate_up_type = TensorType::kQ8_0;
  TensorType down_type = TensorType::kQ8_0;
  uint32_t experts = 5;
  uint32_t hidden = 256;
  uint32_t ffn = 256;
  ExpertConventions conventions;
  Fused fused = Fused::kNo;
  bool bias = false;
  bool scale = false;
};

struct Layer {
  explicit Layer(const LayerOptions& options);

  ExpertSpec spec;
  std::vector<std::vector<std::byte>> units;  // by expert
};

inline constexpr Activation kActivations[] = {Activation::kSiluGate, Activation::kGeluGate,
                                              Activation::kClampedGate, Activation::kReluGate,
                                              Activation::kSquaredRelu};

// Values in [-1, 1), a function of seed and index.
std::vector<float> RandomValues(uint64_t seed, size_t count);
// To the bit.
bool Same(const std::vector<float>& a, const std::vector<float>& b);

// Rows of a step; every third row leaves one pair to nobody.
struct RoutedRows {
  RoutedRows(const Layer& layer, uint32_t rows, uint32_t top_k);

  std::vector<float> x;        // [rows][hidden]
  std::vector<float> weights;  // [rows][top_k]
  std::vector<int32_t> ids;    // [rows][top_k]
};

// A unit's weights, decoded once for many references.
struct DecodedUnit {
  DecodedUnit() = default;
  DecodedUnit(const ExpertSpec& spec, const std::byte* unit);

  std::vector<float> gate, up, down;
};

// One expert applied to one row in double precision. `weight` is the router's, used where the
// conventions apply it before.
std::vector<double> ReferenceExpert(const ExpertSpec& spec, const DecodedUnit& unit,
                                    uint32_t expert, std::span<const float> x, double weight);

// Units and pairs of a call, made from the ids of a step.
struct Grouping {
  std::vector<WaveUnit> units;
  std::vector<uint32_t> pairs;
  std::vector<const std::byte*> addresses;
};
// Experts in descending order, each unit's pairs from the last to the first: an order that nothing
// should depend on. Pairs with ids < 0 are left out.
Grouping GroupBackwards(std::span<const int32_t> ids, const Layer& layer);

}  // namespace berth::kernels::testing

#endif  // BERTH_TESTS_KERNELS_EXPERT_MODEL_H_
