#include "runtime/synth/layer_router.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace berth::synth {
namespace {

// Logarithms of popularity by rank, dealt out to experts. Everyone's is the largest at rank 0.
std::vector<double> Popularity(const SynthOptions& options, uint32_t layer) {
  const double part = options.layers > 1 ? static_cast<double>(layer) / (options.layers - 1) : 0;
  const double scale = options.scale_first + (options.scale_last - options.scale_first) * part;
  std::vector<uint32_t> expert_of(options.experts);
  std::iota(expert_of.begin(), expert_of.end(), 0u);
  CounterRandom random(options.model_seed, Purpose::kRanks, layer);
  for (uint32_t left = options.experts; left > 1; --left) {
    std::swap(expert_of[left - 1], expert_of[random.Below(left)]);
  }
  std::vector<double> popularity(options.experts);
  for (uint32_t rank = 0; rank < options.experts; ++rank) {
    // exp(-50) is nothing; below, the exponential has no meaning.
    const double faded = std::max(-50.0, -static_cast<double>(rank) / options.head_ranks);
    popularity[expert_of[rank]] =
        -static_cast<double>(rank) / scale + options.head * Exponential(faded);
  }
  return popularity;
}

// Integer weights span 2^-28 to 2^20 around a popularity of 1: what lies beyond is as rare, or as
// frequent, as what lies there.
uint64_t Weight(double logarithm) {
  constexpr double kLog2E = 1.44269504088896340736;
  const double power = std::clamp(logarithm * kLog2E, -28.0, 19.0);
  return static_cast<uint64_t>(PowerOfTwo(power + 28.0));
}

}  // namespace

LayerRouter::LayerRouter(const SynthOptions* options, uint32_t layer)
    : options_(options),
      layer_(layer),
      popularity_(Popularity(*options, layer)),
      taste_(options->experts, 0),
      experts_(options->experts) {
  last_.reserve(options->top_k);
  // One block is redrawn a row, so that a row costs the same for any number of experts. Each block
  // waits `blocks` rows and then takes the steps of all of them at once. The square root is exact
  // (IEEE 754).
  const double variance = std::min(1.0, options->drift * options->drift * experts_.blocks());
  drift_stay_ = std::sqrt(1 - variance);
  drift_move_ = std::sqrt(variance);
}

void LayerRouter::SetWeights(uint32_t block) {
  std::array<uint64_t, WeightedSet::kBlock> weights;
  const uint32_t first = block * WeightedSet::kBlock;
  const uint32_t count = std::min(WeightedSet::kBlock, options_->experts - first);
  for (uint32_t at = 0; at < count; ++at) {
    weights[at] = Weight(popularity_[first + at] + sigma_ * taste_[first + at]);
  }
  experts_.SetBlock(block, std::span(weights).first(count));
}

void LayerRouter::BeginRequest(uint32_t request, double sigma) {
  random_ = CounterRandom(options_->seed, Purpose::kRouting, request, layer_);
  predict_random_[0] = CounterRandom(options_->seed, Purpose::kPredicted1Ahead, request, layer_);
  predict_random_[1] = CounterRandom(options_->seed, Purpose::kPredicted2Ahead, request, layer_);
  sigma_ = options_->independent ? 0 : sigma;
  const double stay = first_request_ ? 0 : options_->affinity;
  const double move = std::sqrt(1 - stay * stay);
  for (double& each : taste_) each = stay * each + move * random_.Normal();
  for (uint32_t block = 0; block < experts_.blocks(); ++block) SetWeights(block);
  first_request_ = false;
  row_ = 0;
  last_.clear();
}

void LayerRouter::Drift() {
  if (options_->independent || drift_move_ == 0) return;
  const auto block = static_cast<uint32_t>(row_ % experts_.blocks());
  const uint32_t first = block * WeightedSet::kBlock;
  const uint32_t end = std::min(first + WeightedSet::kBlock, options_->experts);
  for (uint32_t expert = first; expert < end; ++expert) {
    taste_[expert] = drift_stay_ * taste_[expert] + drift_move_ * random_.Normal();
  }
  SetWeights(block);
}

void LayerRouter::Route(std::span<int32_t> experts) {
  if (row_ > 0) Drift();
  ++row_;
  size_t chosen = 0;
  if (!options_->independent) {
    for (const int32_t expert : last_) {
      if (random_.Uniform() >= options_->keep) continue;
      experts_.Take(static_cast<uint32_t>(expert));
      experts[chosen++] = expert;
    }
  }
  while (chosen < experts.size()) {
    experts[chosen++] = static_cast<int32_t>(experts_.Draw(&random_));
  }
  experts_.PutBack();
  last_.assign(experts.begin(), experts.end());
}

void LayerRouter::Predict(uint32_t ahead, double recall, std::span<const int32_t> experts,
                          std::span<int32_t> predicted) {
  CounterRandom& random = predict_random_[ahead - 1];
  for (const int32_t expert : experts) experts_.Take(static_cast<uint32_t>(expert));
  for (size_t k = 0; k < experts.size(); ++k) {
    predicted[k] =
        random.Uniform() < recall ? experts[k] : static_cast<int32_t>(experts_.Draw(&random));
  }
  experts_.PutBack();
}

}  // namespace berth::synth
