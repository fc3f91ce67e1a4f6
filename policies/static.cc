#include "policies/static.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::policies {

Result<std::unique_ptr<Policy>> StaticPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_RETURN_IF_ERROR(params.Finish());
  if (options.heat.empty()) {
    return InvalidArgumentError(
        "policy 'static' keeps the hottest units of a profile and there is none: give one, or "
        "choose another policy");
  }
  return std::unique_ptr<Policy>(new StaticPolicy(options));
}

StaticPolicy::StaticPolicy(const PolicyOptions& options)
    : range_(options),
      heat_(options.heat.begin(), options.heat.end()),
      chosen_(options.units, 0),
      victims_(options.units, ColdestFirst{heat_.data()}) {
  BERTH_CHECK(heat_.size() == options.units);
  std::vector<uint32_t> hottest;
  for (uint32_t unit = 0; unit < options.units; ++unit) {
    if (heat_[unit] > 0) hottest.push_back(unit);
  }
  const auto named = static_cast<uint32_t>(hottest.size());
  if (named > options.slots) {
    std::nth_element(hottest.begin(), hottest.begin() + options.slots, hottest.end(),
                     [this](uint32_t a, uint32_t b) { return ColdestFirst{heat_.data()}(b, a); });
    hottest.resize(options.slots);
  }
  for (uint32_t unit : hottest) chosen_[unit] = 1;
  const uint32_t slots = std::min(options.slots, options.units);
  if (named < slots) {
    open_slots_ = slots - named;
    note_ = "static: the profile has " + FormatCount(named) + " units for " + FormatCount(slots) +
            " slots; the other " + FormatCount(open_slots_) + " go to whoever comes first";
  }
}

void StaticPolicy::BeginStep(uint64_t /*pass*/) { victims_.BeginStep(); }

void StaticPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!resident || victims_.Contains(local),
                  "a unit that is not resident was touched as such");
}

bool StaticPolicy::Admit(UnitIndex unit) {
  return chosen_[range_.Local(unit)] != 0 || others_ < open_slots_;
}

void StaticPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  victims_.Insert(local);
  if (chosen_[local] == 0) ++others_;
}

void StaticPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  victims_.Remove(local);
  if (chosen_[local] == 0) --others_;
}

UnitIndex StaticPolicy::NextVictim(const Evictable& evictable) {
  return victims_.NextVictim(evictable, range_);
}

void StaticPolicy::Learned(std::span<double> heat) const {
  BERTH_CHECK(heat.size() == heat_.size());
  std::copy(heat_.begin(), heat_.end(), heat.begin());
}

}  // namespace berth::policies
