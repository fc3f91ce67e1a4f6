#include "policies/lfu.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> LfuPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const double decay,
                         params.Number("decay", DecayedCounts::kDefaultDecay,
                                       DecayedCounts::kMinDecay, DecayedCounts::kMaxDecay));
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new LfuPolicy(options, decay));
}

LfuPolicy::LfuPolicy(const PolicyOptions& options, double decay)
    : range_(options),
      counts_(options.units, decay, options.heat),
      victims_(options.units, ColdestFirst{&counts_}) {}

void LfuPolicy::BeginStep(uint64_t pass) {
  if (counts_.AdvanceTo(pass)) {
    victims_.Rebuild();
  } else {
    victims_.BeginStep();
  }
}

void LfuPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  counts_.Touch(local);
  if (resident) victims_.MovedBack(local);
}

void LfuPolicy::Inserted(UnitIndex unit) { victims_.Insert(range_.Local(unit)); }

void LfuPolicy::Erased(UnitIndex unit) { victims_.Remove(range_.Local(unit)); }

UnitIndex LfuPolicy::NextVictim(const Evictable& evictable) {
  return victims_.NextVictim(evictable, range_);
}

void LfuPolicy::Learned(std::span<double> heat) const { counts_.Read(heat); }

void LfuPolicy::Play(Policy& policy, const AccessRun& run, AccessSlots* slots) {
  PlayAccesses(static_cast<LfuPolicy&>(policy), run, slots);
}

}  // namespace berth::policies
