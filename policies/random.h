// Random: any evictable unit leaves, each as likely as another. The floor that a policy has to
// beat.
//
// The numbers come from PolicyOptions::seed by an engine that the C++ standard fixes, so equal
// calls give equal victims everywhere.
#ifndef BERTH_POLICIES_RANDOM_H_
#define BERTH_POLICIES_RANDOM_H_

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "policies/params.h"
#include "policies/policy.h"
#include "policies/unit_range.h"

namespace berth::policies {

class RandomPolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);

  explicit RandomPolicy(const PolicyOptions& options);

  std::string_view name() const override { return "random"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // 1 for units that are resident: nothing else is known.
  void Learned(std::span<double> heat) const override;

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  void Swap(uint32_t a, uint32_t b);

  UnitRange range_;
  std::mt19937_64 random_;
  // [0, drawable_) may be drawn, [drawable_, members_) were not evictable in this step.
  std::vector<uint32_t> units_;
  std::vector<uint32_t> place_;  // of each unit in units_
  uint32_t drawable_ = 0;
  uint32_t members_ = 0;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_RANDOM_H_
