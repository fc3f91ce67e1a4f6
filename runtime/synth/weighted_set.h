// Experts to be drawn by weight without replacement, where a few weights change between draws.
//
// Weights are integers: sums are exact, so no order of additions shows in what is drawn.
#ifndef BERTH_RUNTIME_SYNTH_WEIGHTED_SET_H_
#define BERTH_RUNTIME_SYNTH_WEIGHTED_SET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/synth/random.h"

namespace berth::synth {

class WeightedSet {
 public:
  // Weights are set block by block: a draw walks over blocks, then over the experts of one.
  static constexpr uint32_t kBlock = 16;
  // A sum over 2^15 experts fits 64 bits.
  static constexpr uint64_t kMostWeight = uint64_t{1} << 48;

  explicit WeightedSet(uint32_t experts);

  uint32_t blocks() const { return static_cast<uint32_t>(block_sums_.size()); }
  // Weights of the block's experts, 1..kMostWeight each. Nothing may be taken.
  void SetBlock(uint32_t block, std::span<const uint64_t> weights);

  // Takes an expert out of the draws; it must be in.
  void Take(uint32_t expert);
  bool IsTaken(uint32_t expert) const { return weights_[expert] == 0; }
  // Takes one at random by weight. Some expert must be left.
  uint32_t Draw(CounterRandom* random);
  // Brings back everything taken after the first `keep`.
  void PutBack(size_t keep = 0);

 private:
  struct Taken {
    uint32_t expert;
    uint64_t weight;
  };
  std::vector<uint64_t> weights_;  // 0: taken
  std::vector<uint64_t> block_sums_;
  uint64_t total_ = 0;
  std::vector<Taken> taken_;
};

}  // namespace berth::synth

#endif  // BERTH_RUNTIME_SYNTH_WEIGHTED_SET_H_
