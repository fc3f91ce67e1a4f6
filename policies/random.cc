#include "policies/random.h"

#include "runtime/base/check.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> RandomPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new RandomPolicy(options));
}

RandomPolicy::RandomPolicy(const PolicyOptions& options)
    : range_(options),
      random_(options.seed),
      units_(options.units),
      place_(options.units, kAbsent) {}

void RandomPolicy::BeginStep(uint64_t /*pass*/) { drawable_ = members_; }

void RandomPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!resident || place_[local] != kAbsent,
                  "a unit that is not resident was touched as such");
}

void RandomPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(place_[local] == kAbsent, "a unit that is resident was inserted");
  units_[members_] = local;
  place_[local] = members_;
  Swap(members_++, drawable_++);
}

void RandomPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(place_[local] != kAbsent, "a unit that is not resident was erased");
  if (place_[local] < drawable_) Swap(place_[local], --drawable_);
  Swap(place_[local], --members_);
  place_[local] = kAbsent;
}

UnitIndex RandomPolicy::NextVictim(const Evictable& evictable) {
  while (drawable_ > 0) {
    // At most 2^24 units: the modulo favours none by more than 2^-40.
    const auto at = static_cast<uint32_t>(random_() % drawable_);
    const UnitIndex unit = range_.Global(units_[at]);
    if (evictable(unit)) return unit;
    Swap(at, --drawable_);
  }
  return kNoUnit;
}

void RandomPolicy::Swap(uint32_t a, uint32_t b) {
  const uint32_t unit = units_[a];
  units_[a] = units_[b];
  units_[b] = unit;
  place_[units_[a]] = a;
  place_[unit] = b;
}

void RandomPolicy::Learned(std::span<double> heat) const {
  BERTH_CHECK(heat.size() == place_.size());
  for (size_t unit = 0; unit < place_.size(); ++unit) heat[unit] = place_[unit] == kAbsent ? 0 : 1;
}

}  // namespace berth::policies
