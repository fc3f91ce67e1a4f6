// Grouped calls straight on the kernels of the exact arithmetic, whatever the number of rows:
// plain tiles, no siblings. What a set of kernels is capable of, before anything is built on it.
#ifndef BERTH_BENCH_EXACT_CHAIN_H_
#define BERTH_BENCH_EXACT_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/exact/exact_kernels.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/host/worker_pool.h"

namespace berth::bench {

class ExactChain {
 public:
  ExactChain(kernels::WorkerPool* pool, kernels::Isa isa) : pool_(pool), isa_(isa) {}

  void Run(const kernels::GroupedCall& call, uint32_t rows,
           std::span<const std::byte* const> addresses);

 private:
  // Rows in 8 bits.
  struct Quantized {
    std::vector<int8_t> q;
    std::vector<float> d;
    std::vector<int16_t> sums;
    std::vector<kernels::ActivationRow> rows;
    void Resize(uint32_t count, uint32_t cols);
    void Fill(const kernels::ExactKernels& kernels, const float* x, uint32_t cols, uint32_t row);
  };

  template <typename Body>
  void ForEach(uint32_t count, const Body& body);

  kernels::WorkerPool* const pool_;
  const kernels::Isa isa_;
  Quantized inputs_, middles_;
  std::vector<float> activations_;  // [pairs][ffn]
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_EXACT_CHAIN_H_
