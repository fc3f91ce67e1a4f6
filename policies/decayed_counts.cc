#include "policies/decayed_counts.h"

#include <algorithm>
#include <limits>

#include "runtime/base/check.h"

namespace berth::policies {
namespace {

constexpr double kWeightBound = 0x1p512;
constexpr double kRescale = 0x1p-512;
constexpr double kLeapBound = 0x1p256;

// base^exponent by squaring: std::pow may round differently from one C library to the next.
double Power(double base, uint64_t exponent) {
  double power = 1;
  while (true) {
    if (exponent & 1) power *= base;
    exponent >>= 1;
    if (exponent == 0) return power;
    base *= base;
  }
}

// The largest power of two n for which growth^n stays within kLeapBound.
uint64_t LongestLeap(double growth) {
  uint64_t leap = 1;
  while (leap < (uint64_t{1} << 62) && growth * growth <= kLeapBound) {
    growth *= growth;
    leap *= 2;
  }
  return leap;
}

}  // namespace

DecayedCounts::DecayedCounts(uint32_t units, double decay, std::span<const double> start)
    : entries_(units), growth_(1 / decay), longest_leap_(LongestLeap(growth_)) {
  BERTH_CHECK(decay >= kMinDecay && decay <= kMaxDecay);
  BERTH_CHECK(start.empty() || start.size() == units);
  for (size_t unit = 0; unit < start.size(); ++unit) entries_[unit].count = start[unit];
}

bool DecayedCounts::AdvanceTo(uint64_t pass) {
  if (!started_) {
    started_ = true;
    pass_ = pass;
  }
  BERTH_CHECK_MSG(pass >= pass_, "the pass number went back");
  uint64_t gap = pass - pass_;
  pass_ = pass;
  if (gap == 0 || growth_ == 1) return false;

  bool rescaled = false;
  while (gap > 0) {
    const uint64_t leap = std::min(gap, longest_leap_);
    weight_ *= Power(growth_, leap);
    gap -= leap;
    if (weight_ <= kWeightBound) continue;
    rescaled = true;
    // Nothing is left that a longer gap could still change.
    if (!Rescale()) break;
  }
  return rescaled;
}

void DecayedCounts::Read(std::span<double> counts) const {
  BERTH_CHECK(counts.size() == entries_.size());
  for (size_t unit = 0; unit < counts.size(); ++unit) counts[unit] = entries_[unit].count / weight_;
}

bool DecayedCounts::Rescale() {
  weight_ *= kRescale;
  bool any = false;
  for (Entry& entry : entries_) {
    entry.count *= kRescale;
    // Also where the processor would keep a denormal: no decision may hang on its mode.
    if (entry.count < std::numeric_limits<double>::min()) entry.count = 0;
    any |= entry.count != 0;
  }
  return any;
}

}  // namespace berth::policies
