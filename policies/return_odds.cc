#include "policies/return_odds.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace berth::policies {
namespace {

// By squaring: std::pow may round differently from one C library to the next.
double Power(double base, uint32_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) power *= base;
    base *= base;
  }
  return power;
}

// Half octaves from 1 to the largest count that a decay allows.
uint32_t HalfOctaves(double most) {
  uint32_t steps = 0;
  for (double edge = 1; edge < most; edge *= 2) steps += edge * 1.5 < most ? 2 : 1;
  return std::max(1u, steps);
}

}  // namespace

const std::array<uint8_t, ReturnOdds::kSmallAges> ReturnOdds::kBuckets = [] {
  std::array<uint8_t, kSmallAges> buckets{};
  for (uint32_t age = 0; age < kSmallAges; ++age) {
    buckets[age] = static_cast<uint8_t>(BucketOf(age));
  }
  return buckets;
}();

ReturnOdds::ReturnOdds(double slow, double fast, bool learn)
    : slow_(slow),
      fast_(fast),
      learn_(learn),
      slow_steps_(HalfOctaves(1 / (1 - slow))),
      classes_(slow_steps_ * kFastSteps),
      returns_(classes_ * kAges, 0),
      samples_(classes_ * kAges, 0),
      prior_(classes_ * kAges),
      fitted_(prior_),
      expected_(prior_),
      hazards_(prior_),
      worth_(prior_) {
  late_factors_.fill(1);
  const double ratio = std::sqrt(std::sqrt(1 / (1 - fast)));
  double edge = 1;
  for (float& each : fast_edges_) each = static_cast<float>(edge *= ratio);
  for (uint32_t klass = 0; klass < classes_; ++klass) {
    for (uint32_t bucket = 0; bucket < kAges; ++bucket) {
      prior_[klass * kAges + bucket] = PriorOf(klass, bucket);
      fitted_[klass * kAges + bucket] = prior_[klass * kAges + bucket];
    }
    Refresh(klass);
  }
}

// The rates that the two counts stand for, faded by the turns missed.
double ReturnOdds::PriorOf(uint32_t klass, uint32_t bucket) const {
  const uint32_t step = klass % slow_steps_, fast_step = klass / slow_steps_;
  const double slow_count = Power(2, step / 2) * (step % 2 == 0 ? 1.25 : 1.75);
  const double ratio = std::sqrt(std::sqrt(1 / (1 - fast_)));
  const double fast_count = Power(ratio, fast_step) * std::sqrt(ratio);
  const double slow_rate = std::min(1.0, slow_count * (1 - slow_));
  const double fast_rate = std::min(1.0, fast_count * (1 - fast_));
  const uint32_t age = (FirstAge(bucket) + FirstAge(bucket + 1) - 1) / 2;
  const double rate = 0.5 * (slow_rate * Power(slow_, age) + fast_rate * Power(fast_, age));
  return 0.97 * rate + 1e-6;
}

void ReturnOdds::Age() {
  for (double& each : returns_) each *= 0.5;
  for (double& each : samples_) each *= 0.5;
  taken_ *= 0.5;
  turns_ *= 0.5;
}

void ReturnOdds::RefreshLate(double keep) {
  if (!learn_ || taken_ == 0) return;
  late_turns_per_sample_ = turns_ / taken_;
  for (uint32_t bucket = 0; bucket < kAges; ++bucket) {
    const uint32_t first = bucket < kLateReach ? 0 : bucket - kLateReach;
    const uint32_t last = std::min(bucket + kLateReach, kAges - 1);
    double returned = kLateReturns, expected = kLateReturns;
    for (uint32_t near = first; near <= last; ++near) {
      returned += late_returns_[near];
      expected += late_expected_[near];
    }
    late_factors_[bucket] = std::min(kMostLateFactor, returned / expected);
  }
  for (double& each : late_returns_) each *= keep;
  for (double& each : late_expected_) each *= keep;
}

void ReturnOdds::RefreshAll() {
  next_ = 0;
  while (!RefreshOne()) {
  }
}

// How far returns at each age, and of each step of either count, are from what the prior expects.
// One factor after the other, each on top of those before it.
void ReturnOdds::Fit() {
  if (!learn_ || taken_ == 0) return;
  const double turns_per_sample = turns_ / taken_;
  std::fill(expected_.begin(), expected_.end(), 0);
  for (uint32_t at = 0; at < expected_.size(); ++at) {
    fitted_[at] = prior_[at];
    expected_[at] = samples_[at] * turns_per_sample * prior_[at];
  }
  const auto factor_of = [this](auto cells) {
    double returned = kFactorReturns, expected = kFactorReturns;
    cells([&](uint32_t at) {
      returned += returns_[at];
      expected += expected_[at];
    });
    const double factor = returned / expected;
    cells([&](uint32_t at) {
      fitted_[at] *= factor;
      expected_[at] *= factor;
    });
  };
  for (uint32_t bucket = 0; bucket < kAges; ++bucket) {
    factor_of([&](auto visit) {
      for (uint32_t klass = 0; klass < classes_; ++klass) visit(klass * kAges + bucket);
    });
  }
  for (uint32_t fast_step = 0; fast_step < kFastSteps; ++fast_step) {
    factor_of([&](auto visit) {
      const uint32_t cells = slow_steps_ * kAges;
      for (uint32_t at = 0; at < cells; ++at) visit(fast_step * cells + at);
    });
  }
  for (uint32_t step = 0; step < slow_steps_; ++step) {
    factor_of([&](auto visit) {
      for (uint32_t fast_step = 0; fast_step < kFastSteps; ++fast_step) {
        const uint32_t first = (fast_step * slow_steps_ + step) * kAges;
        for (uint32_t at = first; at < first + kAges; ++at) visit(at);
      }
    });
  }
}

bool ReturnOdds::RefreshOne() {
  if (next_ == 0) Fit();
  Refresh(next_);
  next_ = next_ + 1 == classes_ ? 0 : next_ + 1;
  return next_ == 0;
}

void ReturnOdds::Refresh(uint32_t klass) {
  const double horizon = std::clamp(leaving_age_ / 2, kLeastHorizon, kMostHorizon);
  const double stay = 1 - 1 / horizon;
  const double turns_per_sample = taken_ > 0 && learn_ ? turns_ / taken_ : 0;
  double later = 0;  // worth at the first age of the bucket above
  for (uint32_t bucket = kAges; bucket-- > 0;) {
    const uint32_t at = klass * kAges + bucket;
    const double seen = learn_ ? returns_[at] : 0;
    const double hazard = std::min(
        1.0, (seen + kPriorTurns * fitted_[at]) / (samples_[at] * turns_per_sample + kPriorTurns));
    hazards_[at] = hazard;
    // Were the hazard the same at all ages to come.
    const double forever = hazard / (1 - (1 - hazard) * stay);
    const double through =
        bucket + 1 == kAges ? 0
                            : Power((1 - hazard) * stay, FirstAge(bucket + 1) - FirstAge(bucket));
    worth_[at] = forever * (1 - through) + through * later;
    later = worth_[at];
  }
}

}  // namespace berth::policies
