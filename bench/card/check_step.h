// A step of a placed layer: what goes in, what the host makes of it bit by bit, and runs on the
// card that may differ in everything but the result.
#ifndef BERTH_BENCH_CARD_CHECK_STEP_H_
#define BERTH_BENCH_CARD_CHECK_STEP_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/card/card.h"
#include "bench/card/check_layer.h"
#include "berth/status.h"
#include "kernels/gpu/expert_launch.h"

namespace berth::bench {

// Inputs, and what they come to: floats of pairs that route to nobody keep the poison.
struct StepInputs {
  uint32_t rows = 0;
  uint32_t top_k = 0;
  std::vector<int32_t> ids;  // [rows][top_k]
  std::vector<float> x, weights;

  uint32_t pairs() const { return rows * top_k; }
  std::vector<uint32_t> RowsOfExperts(uint32_t experts) const;
};
struct StepOutputs {
  std::vector<float> partials;  // [pairs][hidden]
  std::vector<float> y;         // [rows][hidden]
};

// Every unit of the first `top_k` experts gets all rows.
StepInputs FullStep(const kernels::ExpertSpec& spec, uint32_t rows, uint32_t top_k);
// Units of very different numbers of rows, and pairs that route to nobody.
StepInputs MixedStep(const kernels::ExpertSpec& spec, uint32_t rows, uint32_t top_k);

// The host's exact arithmetic, whatever the number of a unit's rows (up to kMostExactRows).
Result<StepOutputs> HostStep(const kernels::testing::Layer& layer, const StepInputs& inputs);
// The weighted sum of these partial results, on the host.
std::vector<float> HostSum(const kernels::ExpertSpec& spec, const StepInputs& inputs,
                           const std::vector<float>& partials);

// How a run is made.
struct RunPlan {
  std::string name;
  bool tuned = true;
  uint32_t chunk = 0;                    // units of a wave; 0: from router ids
  std::vector<Home> homes;               // of a wave's units in turn; empty: the arena
  uint32_t missing_expert = UINT32_MAX;  // not in the pointer table
  kernels::KernelChoice kernel;
};

// Card memory for steps up to these sizes. One per thread.
class StepRunner {
 public:
  static Result<StepRunner> Create(const CardInfo& card, const kernels::gpu::ExpertSizes& sizes,
                                   const kernels::Arithmetic& arithmetic);

  const CardStream& stream() const { return stream_; }
  const kernels::Arithmetic& arithmetic() const { return launcher_.arithmetic; }
  // InternalError where a kernel wrote outside its outputs or left none of them for want of an
  // address. `failed_unit`: what the kernels say of it.
  Result<StepOutputs> Run(PlacedLayer* layer, const StepInputs& inputs, const RunPlan& plan,
                          uint32_t* failed_unit = nullptr);

 private:
  // Floats between others that nobody may write.
  struct Guarded {
    CardMemory memory;
    uint64_t count = 0;
    float* data() const;
  };
  Status Poison(Guarded* to, uint64_t count);
  Result<std::vector<float>> Fetch(const Guarded& from, const char* what);
  Status Launch(const PlacedLayer& layer, const StepInputs& inputs, const RunPlan& plan);
  Status LaunchWaves(const PlacedLayer& layer, const StepInputs& inputs, const RunPlan& plan,
                     kernels::gpu::CardCall call);
  Status CheckWorkspace();

  CardStream stream_;
  kernels::gpu::ExpertLauncher launcher_;
  CardMemory workspace_, x_, weights_, ids_, waves_, failed_;
  Guarded partials_, y_;
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_CHECK_STEP_H_
