#include "policies/heat.h"

#include <algorithm>

namespace berth::policies {
namespace {

uint64_t MostPins(const PolicyOptions& options) {
  const uint64_t unpinned = std::max<uint64_t>(1, uint64_t{3} * options.top_k);
  return options.slots > unpinned ? options.slots - unpinned : 0;
}

}  // namespace

Result<std::unique_ptr<Policy>> HeatPolicy::Make(Params& params, const PolicyOptions& options) {
  BERTH_ASSIGN_OR_RETURN(
      const uint64_t pins,
      params.CountOrPercent("pins", options.slots, kDefaultPinPercent, UINT32_MAX));
  BERTH_ASSIGN_OR_RETURN(const double decay,
                         params.Number("decay", DecayedCounts::kDefaultDecay,
                                       DecayedCounts::kMinDecay, DecayedCounts::kMaxDecay));
  BERTH_ASSIGN_OR_RETURN(const uint64_t every, params.Count("every", kDefaultEvery, 1, 1000000));
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new HeatPolicy(options, pins, decay, every));
}

HeatPolicy::HeatPolicy(const PolicyOptions& options, uint64_t pins, double decay, uint64_t every)
    : range_(options),
      counts_(options.units, decay, options.heat),
      recency_(options.units),
      candidates_(options.units),
      pinned_(options.units, 0),
      hottest_(options.units),
      pins_(std::min(pins, MostPins(options))),
      every_(every) {
  if (pins_ < pins) {
    note_ = "heat: pins lowered from " + std::to_string(pins) + " to " + std::to_string(pins_) +
            " of " + std::to_string(options.slots) + " slots so that a step always finds victims";
  }
  if (!options.heat.empty()) ChoosePins();
}

void HeatPolicy::BeginStep(uint64_t pass) {
  counts_.AdvanceTo(pass);
  if (!started_) {
    started_ = true;
    chosen_at_ = pass;
  }
  if (pass - chosen_at_ >= every_) {
    chosen_at_ = pass;
    ChoosePins();
    ListCandidates();
  }
  candidates_.BeginStep();
}

void HeatPolicy::ChoosePins() {
  std::fill(pinned_.begin(), pinned_.end(), uint8_t{0});
  auto end = hottest_.begin();
  for (uint32_t unit = 0; unit < range_.units(); ++unit) {
    if (!counts_.IsZero(unit)) *end++ = unit;
  }
  if (static_cast<size_t>(end - hottest_.begin()) > pins_) {
    const auto cut = hottest_.begin() + static_cast<ptrdiff_t>(pins_);
    // The order is total, so which units stand before the cut does not depend on the library.
    std::nth_element(hottest_.begin(), cut, end,
                     [this](uint32_t a, uint32_t b) { return counts_.Colder(b, a); });
    end = cut;
  }
  std::for_each(hottest_.begin(), end, [this](uint32_t unit) { pinned_[unit] = 1; });
}

void HeatPolicy::ListCandidates() {
  candidates_.Clear();
  for (uint32_t unit = recency_.Oldest(); unit != recency_.End(); unit = recency_.Newer(unit)) {
    if (!pinned_[unit]) candidates_.PushNewest(unit);
  }
}

void HeatPolicy::Touched(UnitIndex unit, bool resident, uint32_t /*rows*/) {
  const uint32_t local = range_.Local(unit);
  counts_.Touch(local);
  if (!resident) return;
  recency_.MoveToNewest(local);
  if (!pinned_[local]) candidates_.MoveToNewest(local);
}

void HeatPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  recency_.PushNewest(local);
  if (!pinned_[local]) candidates_.PushNewest(local);
}

void HeatPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  recency_.Remove(local);
  if (!pinned_[local]) candidates_.Remove(local);
}

UnitIndex HeatPolicy::NextVictim(const Evictable& evictable) {
  return candidates_.NextVictim(evictable, range_);
}

void HeatPolicy::Learned(std::span<double> heat) const { counts_.Read(heat); }

}  // namespace berth::policies
