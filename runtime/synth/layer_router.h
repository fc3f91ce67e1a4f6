// Routes the rows of one layer, one after the other.
#ifndef BERTH_RUNTIME_SYNTH_LAYER_ROUTER_H_
#define BERTH_RUNTIME_SYNTH_LAYER_ROUTER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/synth/options.h"
#include "runtime/synth/random.h"
#include "runtime/synth/weighted_set.h"

namespace berth::synth {

class LayerRouter {
 public:
  // `options` must outlive the router and have been checked.
  LayerRouter(const SynthOptions* options, uint32_t layer);

  // `sigma` is the request's own.
  void BeginRequest(uint32_t request, double sigma);
  // Chooses the experts of the next row, top_k different ones: kept ones first, then as drawn.
  void Route(std::span<int32_t> experts);
  // What an earlier router says of the row just routed: each of its experts with probability
  // `recall`, in its place, and otherwise one that the row does not go to. Draws of `ahead` and of
  // Route know nothing of each other.
  void Predict(uint32_t ahead, double recall, std::span<const int32_t> experts,
               std::span<int32_t> predicted);

 private:
  void SetWeights(uint32_t block);
  void Drift();

  const SynthOptions* options_;
  const uint32_t layer_;
  std::vector<double> popularity_;  // logarithms, by expert
  std::vector<double> taste_;       // the request's normal numbers, by expert
  WeightedSet experts_;
  double sigma_ = 0;
  double drift_stay_ = 1, drift_move_ = 0;  // of a block's redraw
  uint64_t row_ = 0;                        // of the request
  bool first_request_ = true;
  std::vector<int32_t> last_;  // experts of the request's last row; empty before its first
  CounterRandom random_;
  CounterRandom predict_random_[2];
};

}  // namespace berth::synth

#endif  // BERTH_RUNTIME_SYNTH_LAYER_ROUTER_H_
