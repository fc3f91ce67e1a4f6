// One step of a layer, run on the emulated card and by the host's reference, whose bits the card's
// have to be.
#ifndef BERTH_TESTS_KERNELS_GPU_CARD_STEP_H_
#define BERTH_TESTS_KERNELS_GPU_CARD_STEP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/gpu/expert_launch.h"
#include "tests/kernels/expert_model.h"

namespace berth::kernels::gpu::testing {

using kernels::testing::Layer;
using kernels::testing::LayerOptions;
using kernels::testing::Same;

// Outputs of a step; pairs of nobody keep the poison.
struct Outputs {
  std::vector<float> partials;
  std::vector<float> y;
};

class CardStep : public kernels::testing::RoutedRows {
 public:
  CardStep(const Layer& layer, uint32_t rows, uint32_t top_k);

  // Every unit begins so many bytes beyond a multiple of 256.
  uint32_t misalignment = 0;
  // Inputs begin so many floats beyond a multiple of 16 bytes.
  uint32_t input_offset = 0;
  Dispatch dispatch;
  KernelChoice kernel;
  KernelLaunches ran;  // of all runs
  uint32_t exact_rows = kMostExactRows;
  uint32_t processors = 0;  // 0: one or two

  Outputs RunHost() const;
  // From router ids, or as a wave that the host made of them (then y is the host's sum).
  Outputs RunCard(bool wave = false);
  // The sum of the partials, by the host.
  void Reduce(Outputs* outputs) const;
  // Leaves values that are no numbers where a call keeps nothing for the next.
  void SpoilWorkspace();
  // 1 + the unit that had no address in the last run; an expert in `missing` has none.
  uint32_t failed_unit = 0;
  std::vector<uint32_t> missing;

 private:
  std::vector<float> Poison(size_t count) const;
  const Layer& layer_;
  uint32_t rows_, top_k_;
  std::unique_ptr<std::byte, void (*)(void*)> workspace_;
};

}  // namespace berth::kernels::gpu::testing

#endif  // BERTH_TESTS_KERNELS_GPU_CARD_STEP_H_
