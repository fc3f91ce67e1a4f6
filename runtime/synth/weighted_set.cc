#include "runtime/synth/weighted_set.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/math.h"

namespace berth::synth {

WeightedSet::WeightedSet(uint32_t experts)
    : weights_(experts, 0), block_sums_(CeilDiv(experts, kBlock), 0) {}

void WeightedSet::SetBlock(uint32_t block, std::span<const uint64_t> weights) {
  uint64_t sum = 0;
  for (const uint64_t weight : weights) sum += weight;
  std::copy(weights.begin(), weights.end(), weights_.begin() + block * kBlock);
  total_ += sum - block_sums_[block];
  block_sums_[block] = sum;
}

void WeightedSet::Take(uint32_t expert) {
  const uint64_t weight = weights_[expert];
  taken_.push_back({expert, weight});
  weights_[expert] = 0;
  block_sums_[expert / kBlock] -= weight;
  total_ -= weight;
}

uint32_t WeightedSet::Draw(CounterRandom* random) {
  BERTH_CHECK(total_ > 0);
  uint64_t left = random->Below(total_);
  uint32_t block = 0;
  while (left >= block_sums_[block]) left -= block_sums_[block++];
  uint32_t expert = block * kBlock;
  while (left >= weights_[expert]) left -= weights_[expert++];
  Take(expert);
  return expert;
}

void WeightedSet::PutBack(size_t keep) {
  while (taken_.size() > keep) {
    const auto [expert, weight] = taken_.back();
    taken_.pop_back();
    weights_[expert] = weight;
    block_sums_[expert / kBlock] += weight;
    total_ += weight;
  }
}

}  // namespace berth::synth
