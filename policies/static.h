// Static: the hottest units of a profile, as many as there are slots, may come in and stay.
//
// The profile (PolicyOptions::heat) is all that it knows: traffic changes nothing. Equally hot: the
// lower index is in. A unit of heat 0 is not in the profile; where the profile has fewer units than
// there are slots, the rest of the slots goes to whoever comes first, and note() says so.
//
// A victim is needed only where the pool has lost slots since it was made: the coldest unit.
#ifndef BERTH_POLICIES_STATIC_H_
#define BERTH_POLICIES_STATIC_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/params.h"
#include "policies/policy.h"
#include "policies/unit_range.h"
#include "policies/victim_heap.h"

namespace berth::policies {

class StaticPolicy final : public Policy {
 public:
  // Without heat: InvalidArgument.
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);

  explicit StaticPolicy(const PolicyOptions& options);
  // The heap's order refers to the heat beside it.
  StaticPolicy(const StaticPolicy&) = delete;
  StaticPolicy& operator=(const StaticPolicy&) = delete;

  std::string_view name() const override { return "static"; }
  std::string note() const override { return note_; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex unit) override;
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // The profile that it was made with.
  void Learned(std::span<double> heat) const override;

 private:
  struct ColdestFirst {
    const double* heat;
    bool operator()(uint32_t a, uint32_t b) const {
      return heat[a] != heat[b] ? heat[a] < heat[b] : a > b;
    }
  };

  UnitRange range_;
  std::vector<double> heat_;
  std::vector<uint8_t> chosen_;       // by unit
  VictimHeap<ColdestFirst> victims_;  // the resident units
  uint32_t open_slots_ = 0;           // that the profile leaves to others
  uint32_t others_ = 0;               // that have come in
  std::string note_;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_STATIC_H_
