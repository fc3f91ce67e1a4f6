// ReturnOdds: how likely a unit is to be routed to again, learned while it happens.
//
// A unit's *class* says how often it had been touched when it was touched last: a slow decayed
// count (steps of half an octave) and a fast one (four steps). Its *age* is the number of its
// layer's turns that went by without it since. For every class and age the table counts how often
// units stood there (by sampling) and how often the next turn routed to them; the ratio is the
// hazard of a return. Little evidence leans on a prior: what the two counts alone would say.
//
// Evidence is slow where what is asked for changes: after that, units that were hot return less
// than their class says and newcomers more. So returns of late are held against what the hazards
// made of the same looks, over ages next to each other and all classes (one class sees too little),
// and worth is scaled by the ratio.
//
// From the hazards follows the *worth* of a slot that holds such a unit: the chance that it returns
// soon, where soon is a constant risk per turn that it will have left: one in half the mean age at
// which units have been leaving.
//
// Only additions, multiplications, divisions and square roots of doubles in a fixed order: the same
// figures on every machine.
#ifndef BERTH_POLICIES_RETURN_ODDS_H_
#define BERTH_POLICIES_RETURN_ODDS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace berth::policies {

class ReturnOdds {
 public:
  static constexpr uint32_t kFastSteps = 4;
  static constexpr uint32_t kAges = 24;  // buckets: 0, 1, 2, 3, then half octaves; the last is open

  // Decays of the two counts per turn, `slow` at most 0.99. `learn` false: the prior is all there
  // is.
  ReturnOdds(double slow, double fast, bool learn);

  uint32_t classes() const { return classes_; }
  // Counts as of the last touch, that touch included (1 or more).
  uint32_t ClassOf(float slow_count, float fast_count) const {
    // In sixteenths; half octaves start at 1, 1.5, 2, 3, 4, ...
    const auto sixteenths = static_cast<uint32_t>(slow_count * 16);
    uint32_t step = 0;
    if (sixteenths >= 16) {
      const auto octave = static_cast<uint32_t>(std::bit_width(sixteenths)) - 5;
      step = 2 * octave + (sixteenths >> (octave + 3) & 1);
      if (step >= slow_steps_) step = slow_steps_ - 1;
    }
    uint32_t fast_step = 0;
    while (fast_step + 1 < kFastSteps && fast_count >= fast_edges_[fast_step]) ++fast_step;
    return fast_step * slow_steps_ + step;
  }
  // At most 1: a chance.
  double Worth(uint32_t klass, uint32_t age) const {
    const uint32_t bucket = Bucket(age);
    return std::min(1.0, worth_[klass * kAges + bucket] * late_factors_[bucket]);
  }

  // A turn routed to a unit of this class that had missed `age` turns.
  void Returned(uint32_t klass, uint32_t age) {
    const uint32_t bucket = Bucket(age);
    returns_[klass * kAges + bucket] += 1;
    if (late_turns_per_sample_ > 0) late_returns_[bucket] += 1;
  }
  // A unit of this class was seen waiting, `age` turns missed.
  void Sampled(uint32_t klass, uint32_t age) {
    const uint32_t bucket = Bucket(age);
    samples_[klass * kAges + bucket] += 1;
    late_expected_[bucket] += hazards_[klass * kAges + bucket] * late_turns_per_sample_;
  }
  // Out of `taken` looks at units, while the pool's units waited for `turns` turns in all.
  void Cover(double taken, double turns) {
    taken_ += taken;
    turns_ += turns;
  }
  double taken() const { return taken_; }
  // Halves the weight of all that was seen so far.
  void Age();
  // A unit left at this age, in turns.
  void Left(double age) { leaving_age_ += (age - leaving_age_) * kLeavingWeight; }
  // Brings the worths of one class up to date, another one each time. True when it was the last.
  bool RefreshOne();
  void RefreshAll();
  // Brings the factors of late up to date; what they stand on keeps `keep` of its weight. The first
  // call begins to look: until then all that was seen is of late.
  void RefreshLate(double keep);

 private:
  static constexpr double kLeavingWeight = 1.0 / 512;
  static constexpr double kFirstLeavingAge = 20;
  static constexpr double kLeastHorizon = 2;
  static constexpr double kMostHorizon = 4096;
  static constexpr double kPriorTurns = 100;  // evidence that the prior is worth

  static constexpr double kFactorReturns = 48;  // evidence that a factor of 1 is worth
  static constexpr double kLateReturns = 32;    // evidence that a factor of late of 1 is worth
  // After a prompt of many rows a pass nearly everything returns, for a while.
  static constexpr double kMostLateFactor = 1.2;
  static constexpr uint32_t kLateReach = 3;  // buckets to either side that a factor looks at

  static constexpr uint32_t kSmallAges = 64;
  static const std::array<uint8_t, kSmallAges> kBuckets;
  static uint32_t Bucket(uint32_t age) {
    if (age < kSmallAges) return kBuckets[age];
    return BucketOf(age);
  }
  static constexpr uint32_t BucketOf(uint32_t age) {
    if (age < 4) return age;
    const auto octave = static_cast<uint32_t>(std::bit_width(age)) - 1;
    const uint32_t bucket = 2 * octave + (age >> (octave - 1) & 1);
    return bucket < kAges ? bucket : kAges - 1;
  }
  static uint32_t FirstAge(uint32_t bucket) {
    return bucket < 4 ? bucket : (2 + (bucket & 1)) << (bucket / 2 - 1);
  }
  double PriorOf(uint32_t klass, uint32_t bucket) const;
  void Fit();
  void Refresh(uint32_t klass);

  double slow_, fast_;
  bool learn_;
  uint32_t slow_steps_;
  uint32_t classes_;
  std::array<float, kFastSteps> fast_edges_;  // upper ends; the last step has none
  std::vector<double> returns_, samples_, prior_, fitted_, expected_, hazards_,
      worth_;  // [classes][kAges]
  std::array<double, kAges> late_returns_{}, late_expected_{}, late_factors_;
  double late_turns_per_sample_ = 0;  // 0: not begun
  double taken_ = 0, turns_ = 0;
  double leaving_age_ = kFirstLeavingAge;
  uint32_t next_ = 0;  // class to refresh
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_RETURN_ODDS_H_
