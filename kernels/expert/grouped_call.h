// The grouped expert call: all routed (row, k) pairs of one wave through their experts, and the
// weighted sum of a step's partial results. Plain data, so that it can cross to a stream by value;
// what it points to must live until the stream has run it.
#ifndef BERTH_KERNELS_EXPERT_GROUPED_CALL_H_
#define BERTH_KERNELS_EXPERT_GROUPED_CALL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/expert/expert_spec.h"
#include "kernels/kernel_choice.h"

namespace berth::kernels {

// A unit of a wave and the pairs routed to it: pairs[first_pair .. first_pair + pair_count).
struct WaveUnit {
  UnitIndex unit = kNoUnit;
  uint32_t expert = 0;  // the model's own id, for the siblings
  uint32_t first_pair = 0;
  uint32_t pair_count = 0;
  // Null: take the address from the card's pointer table. Units that run from the ring have no
  // table entry and bring their address.
  const std::byte* address = nullptr;
  // How much further from the unit's address than the spec's offsets gate, up and down lie. Zero on
  // a card; in a host slot they lie as they were read.
  std::array<int64_t, 3> shifts = {};
};

struct GroupedCall {
  const ExpertSpec* spec = nullptr;
  const WaveUnit* units = nullptr;
  uint32_t unit_count = 0;
  const uint32_t* pairs = nullptr;  // row * top_k + k
  uint32_t top_k = 0;
  uint32_t rows = 0;         // of x; 0: as many as the pairs name
  const float* x = nullptr;  // [rows][hidden], dense
  // Router weights [rows][top_k]; read only where conventions.weights_before is set.
  const float* weights = nullptr;
  float* partials = nullptr;  // [rows * top_k][hidden]; the call writes exactly its pairs' rows
  // One of Device::Kernels; what a card does not have, or what would change bits, counts as kAuto.
  KernelChoice kernel;
};

// y[row] = sum over k ascending of weights[row][k] * partials[row * top_k + k], skipping pairs
// with ids < 0. With weights_before the weights are already in the partials and count as 1.
struct ReduceCall {
  uint32_t rows = 0;
  uint32_t top_k = 0;
  uint32_t hidden = 0;
  const float* partials = nullptr;
  const float* weights = nullptr;  // [rows][top_k]
  const int32_t* ids = nullptr;    // [rows][top_k], kNoExpert where a pair routes to nobody
  bool weights_before = false;
  void* y = nullptr;    // [rows] rows, y_stride elements apart
  size_t y_stride = 0;  // elements
  DataType y_type = DataType::kF32;
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_GROUPED_CALL_H_
