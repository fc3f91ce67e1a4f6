// Segmented LRU: LRU lists on top of each other, through which a unit rises with every use.
//
// The slots are shared out equally between the segments; the lower ones get what does not divide. A
// unit comes into the lowest segment with room, the lowest of all where none has any. A use moves
// it to the newest end of the next segment; a segment that is then too full lets its oldest unit
// sink to the newest end of the one below, and so on downwards. The oldest evictable unit of the
// lowest segment that has one leaves.
//
// O(segments) a call.
#ifndef BERTH_POLICIES_SLRU_H_
#define BERTH_POLICIES_SLRU_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/access_play.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class SlruPolicy final : public Policy {
 public:
  static constexpr uint64_t kDefaultSegments = 4;
  static constexpr uint64_t kMaxSegments = 16;

  // Keys: segments.
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  SlruPolicy(const PolicyOptions& options, uint64_t segments);

  std::string_view name() const override { return "slru"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Ranks in the order of leaving.
  void Learned(std::span<double> heat) const override;

 private:
  static constexpr uint8_t kNowhere = UINT8_MAX;
  struct Segment {
    RecencyList units;
    uint32_t share;  // of the slots
  };

  void Put(uint32_t unit, size_t segment);

  UnitRange range_;
  std::vector<Segment> segments_;    // the lowest first
  std::vector<uint8_t> segment_of_;  // by unit
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_SLRU_H_
