// FIFO: the unit that came in first leaves first, whatever was routed to since.
#ifndef BERTH_POLICIES_FIFO_H_
#define BERTH_POLICIES_FIFO_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "policies/access_play.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/recency_list.h"
#include "policies/unit_range.h"

namespace berth::policies {

class FifoPolicy final : public Policy {
 public:
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);
  static void Play(Policy& policy, const AccessRun& run, AccessSlots* slots);

  explicit FifoPolicy(const PolicyOptions& options) : range_(options), queue_(options.units) {}

  std::string_view name() const override { return "fifo"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex) override { return true; }
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Ranks in the order of leaving.
  void Learned(std::span<double> heat) const override;

 private:
  UnitRange range_;
  RecencyList queue_;  // the resident units in the order in which they came in
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_FIFO_H_
