// What the best-known kernels reach, cell by cell, and how much better ours are meant to be.
#ifndef BERTH_BENCH_CARD_PUBLISHED_CELLS_H_
#define BERTH_BENCH_CARD_PUBLISHED_CELLS_H_

#include <cstdint>
#include <string_view>

namespace berth::bench {

// Microseconds a layer of ggml 0.21's CUDA kernels on an H200: gate and up mul_mat_id, SwiGLU, down
// mul_mat_id; 512 experts, top-10, hidden 2560, FFN 640, uniform routing, 12 layers of resident
// experts, graph replay, median of 9. 0: that cell was not measured.
double PublishedMicroseconds(std::string_view pair, uint32_t rows);

struct Target {
  double factor = 0;     // over the published figure; 0: none is set for so many rows
  double bandwidth = 0;  // besides, this share of the measured read bandwidth
};
Target TargetOf(uint32_t rows, uint64_t unit_bytes);
// Instead of all that, this share of the measured read bandwidth will do.
inline constexpr double kEnoughBandwidth = 0.75;

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_PUBLISHED_CELLS_H_
