// PoolPlayer: one policy and its slots in every pool, playing the steps of a trace.
#ifndef BERTH_RUNTIME_COUNT_POOL_PLAYER_H_
#define BERTH_RUNTIME_COUNT_POOL_PLAYER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "policies/access_play.h"
#include "policies/policy.h"
#include "runtime/count/count.h"
#include "runtime/count/pool_layout.h"
#include "runtime/count/step_reader.h"

namespace berth::count {

class PoolPlayer {
 public:
  // The layout and `next_use` ([units] of the model; empty where the policy does not ask) must
  // outlive the player. InvalidArgument for a policy or pools that do not fit.
  static Result<std::unique_ptr<PoolPlayer>> Create(const PoolLayout& layout,
                                                    const CountRequest& request,
                                                    std::span<uint64_t> next_use, bool residency);

  void Play(const StepBlock& block, Granularity granularity);
  // What was counted, but for the lookups, which are the trace's.
  CountResult Finish();

 private:
  struct Slots {
    std::unique_ptr<policies::Policy> policy;
    policies::AccessSlots state;
  };
  // What may leave: nothing of the step at hand.
  class NotOfStep final : public policies::Evictable {
   public:
    explicit NotOfStep(const PoolPlayer& player) : player_(player) {}
    bool operator()(UnitIndex unit) const override {
      return player_.last_step_[unit] != player_.step_;
    }

   private:
    const PoolPlayer& player_;
  };

  PoolPlayer(const PoolLayout& layout, const CountRequest& request, std::span<uint64_t> next_use,
             bool residency);
  Status MakePolicies();
  void Restart(const StepBlock& block);
  void Preload(uint32_t pool);
  void PlaySteps(const StepBlock& block, Granularity granularity);
  void PlayAccesses(const StepBlock& block);
  // `rows` that route to each of the units; empty: one each.
  void PlayStep(Slots* slots, uint64_t pass, std::span<const UnitIndex> units,
                std::span<const uint32_t> rows, std::span<const uint64_t> next_uses);
  bool Fetch(Slots* slots, UnitIndex unit);
  void Enter(Slots* slots, UnitIndex unit);
  void Leave(Slots* slots, UnitIndex unit);

  const PoolLayout& layout_;
  const CountRequest request_;
  policies::AccessPlay play_accesses_ = nullptr;
  std::span<uint64_t> next_use_;
  std::vector<Slots> pools_;
  std::vector<uint8_t> resident_;    // by unit
  std::vector<uint64_t> last_step_;  // by unit
  uint64_t step_ = 0;
  bool started_ = false;
  std::vector<uint64_t> unit_misses_;
  // Residency: counted steps of each layer that have begun, what that was when the unit came in,
  // and the steps of the stays that are over.
  std::vector<uint64_t> layer_steps_;
  std::vector<uint64_t> entered_at_;
  std::vector<uint64_t> resident_steps_;
};

}  // namespace berth::count

#endif  // BERTH_RUNTIME_COUNT_POOL_PLAYER_H_
