// The inputs that `run` feeds to the model: made from counters, so that any (row, layer) can be
// made in any order and on any machine with the same bits.
#ifndef BERTH_RUNTIME_RUN_INPUTS_H_
#define BERTH_RUNTIME_RUN_INPUTS_H_

#include <cstdint>

#include "runtime/base/mix.h"

namespace berth {

// x[column] for one row of one layer: in [-1, 1), multiples of 2^-23, so exact in F32.
inline void FillInput(uint64_t seed, uint64_t row, uint32_t layer, uint32_t hidden, float* x) {
  const uint64_t key = ScatterBits(ScatterBits(ScatterBits(seed) ^ row) ^ layer);
  for (uint32_t column = 0; column < hidden; ++column) {
    const uint64_t bits = ScatterBits(key + column);
    x[column] = static_cast<float>(static_cast<int32_t>(bits >> 40) - (1 << 23)) * 0x1p-23f;
  }
}

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_INPUTS_H_
