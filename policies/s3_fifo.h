// S3-FIFO (Yang et al., SOSP 2023): a small queue for what came in, a main queue for what proved
// itself, and a ghost list of what left the small one.
//
// A unit comes into the small queue, or into the main one where the ghost list remembers it. At the
// end of the small queue a unit with `threshold` uses moves to the main queue and starts there at
// 0, another one leaves and is remembered. At the end of the main queue a unit with uses goes
// around again with one fewer (of at most 3), another one leaves and is forgotten. The main queue
// gives a victim when it is above its share or the small one is empty, the small one else (so it
// may be the larger one until the pool has filled); where the one has nothing that may leave, the
// other gives.
//
// A unit that is not evictable keeps its place. Every move costs a use that was counted before:
// O(1) amortized over the touches.
#ifndef BERTH_POLICIES_S3_FIFO_H_
#define BERTH_POLICIES_S3_FIFO_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/access_play.h"
#include "policies/ghost_list.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class S3FifoPolicy final : public Policy {
 public:
  static constexpr double kDefaultSmallPercent = 10;
  static constexpr double kDefaultGhostPercent = 90;
  static constexpr uint64_t kDefaultThreshold = 2;
  static constexpr uint8_t kMostUses = 3;  // that are counted

  // Keys: small and ghost (units, or percent of the slots), threshold (uses).
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  S3FifoPolicy(const PolicyOptions& options, uint64_t small, uint64_t ghost, uint64_t threshold);

  std::string_view name() const override { return "s3-fifo"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Ranks in the order of leaving.
  void Learned(std::span<double> heat) const override;

 private:
  UnitIndex FromSmall(const Evictable& evictable);
  UnitIndex FromMain(const Evictable& evictable);

  UnitRange range_;
  RecencyList small_;
  RecencyList main_;
  GhostList ghosts_;
  std::vector<uint8_t> uses_;       // by unit, since it came into its queue
  std::vector<uint8_t> returning_;  // by unit: a touch found it in the ghost list
  uint64_t main_share_;
  uint8_t threshold_;
  UnitIndex chosen_ = kNoUnit;  // the last victim, until it is erased
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_S3_FIFO_H_
