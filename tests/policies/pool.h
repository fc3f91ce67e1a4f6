// A pool of slots as the scheduler runs one: it drives a policy step by step and keeps the record
// of who left. What a policy may not do (a victim that is not resident, or not evictable) is
// checked at every step.
#ifndef BERTH_TESTS_POLICIES_POOL_H_
#define BERTH_TESTS_POLICIES_POOL_H_

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "policies/policy.h"

namespace berth::policies {

inline PolicyOptions Options(uint32_t units, uint32_t slots, uint32_t top_k = 1) {
  PolicyOptions options;
  options.units = units;
  options.slots = slots;
  options.top_k = top_k;
  return options;
}

inline std::unique_ptr<Policy> MakeOrDie(std::string_view spec, const PolicyOptions& options) {
  Result<std::unique_ptr<Policy>> policy = MakePolicy(spec, options);
  EXPECT_TRUE(policy.ok()) << policy.status().ToString();
  return std::move(policy).value();
}

// As `options`, with what `policy` cannot do without: a profile in which all are equal, a future
// that never changes.
inline PolicyOptions WithNeedsOf(std::string_view policy, PolicyOptions options) {
  static const std::vector<double> kHeat(4096, 1);
  static const std::vector<uint64_t> kNextUse = [] {
    std::vector<uint64_t> next(4096);
    for (size_t unit = 0; unit < next.size(); ++unit) next[unit] = 1 + unit * 7919 % 4096;
    return next;
  }();
  for (const PolicyInfo& info : Policies()) {
    if (info.name != policy.substr(0, policy.find(':'))) continue;
    if (info.needs_heat) options.heat = std::span(kHeat).first(options.units);
    if (info.needs_future) options.next_use = std::span(kNextUse).first(options.units);
  }
  return options;
}

// What GoogleTest takes for a name: letters, digits and underscores.
inline std::string TestName(std::string_view spec) {
  std::string name(spec);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<uint8_t>(c)) == 0; },
      '_');
  return name;
}

class Pool final : public Evictable {
 public:
  Pool(Policy& policy, const PolicyOptions& options)
      : policy_(policy),
        first_(options.first_unit),
        resident_(options.units, false),
        busy_(options.units, false),
        leased_(options.units, false),
        free_(options.slots) {}

  // Routes to `units` (distinct) and gives every miss a slot where it can. Returns the misses.
  size_t Step(uint64_t pass, std::span<const UnitIndex> units) {
    return Step(pass, units, std::vector<uint32_t>(units.size(), 1));
  }
  // As many rows route to each of the units.
  size_t Step(uint64_t pass, std::span<const UnitIndex> units, std::span<const uint32_t> rows) {
    Begin(pass, units);
    for (size_t at = 0; at < units.size(); ++at) {
      policy_.Touched(units[at], IsResident(units[at]), rows[at]);
    }
    size_t misses = 0;
    for (UnitIndex unit : units) {
      if (IsResident(unit)) continue;
      ++misses;
      Fetch(unit);
    }
    return misses;
  }
  size_t Step(uint64_t pass, std::initializer_list<UnitIndex> units) {
    return Step(pass, std::span(units.begin(), units.size()));
  }
  // A hint: fetches without touching.
  void Prefetch(uint64_t pass, std::span<const UnitIndex> units) {
    Begin(pass, units);
    for (UnitIndex unit : units) {
      if (!IsResident(unit)) Fetch(unit);
    }
  }
  // A read that failed.
  void Fail(UnitIndex unit) {
    policy_.Erased(unit);
    resident_[unit - first_] = false;
    ++free_;
  }

  // From now on these may not leave, whatever step it is.
  void Lease(std::span<const UnitIndex> units) {
    for (UnitIndex unit : units) leased_[unit - first_] = true;
  }

  bool IsResident(UnitIndex unit) const { return resident_[unit - first_]; }
  size_t CountEvictable() const {
    size_t count = 0;
    for (size_t at = 0; at < resident_.size(); ++at) count += resident_[at] && !busy_[at];
    return count;
  }
  bool operator()(UnitIndex unit) const override {
    ++asked_;
    return !busy_[unit - first_];
  }

  const std::vector<UnitIndex>& victims() const { return victims_; }
  // Evictable units that were there when the policy said that there is none, at worst.
  size_t most_withheld() const { return most_withheld_; }
  size_t asked() const { return asked_; }
  void ForgetAsked() { asked_ = 0; }

 private:
  void Begin(uint64_t pass, std::span<const UnitIndex> units) {
    policy_.BeginStep(pass);
    busy_ = leased_;
    for (UnitIndex unit : units) busy_[unit - first_] = true;
  }
  void Fetch(UnitIndex unit) {
    if (!policy_.Admit(unit)) return;
    if (free_ == 0) {
      const UnitIndex victim = policy_.NextVictim(*this);
      if (victim == kNoUnit) {
        most_withheld_ = std::max(most_withheld_, CountEvictable());
        return;
      }
      ASSERT_GE(victim, first_);
      ASSERT_LT(victim - first_, resident_.size());
      ASSERT_TRUE(resident_[victim - first_]) << victim;
      ASSERT_FALSE(busy_[victim - first_]) << victim;
      victims_.push_back(victim);
      Fail(victim);
    }
    --free_;
    policy_.Inserted(unit);
    resident_[unit - first_] = true;
  }

  Policy& policy_;
  UnitIndex first_;
  std::vector<bool> resident_;
  std::vector<bool> busy_;    // not evictable in this step
  std::vector<bool> leased_;  // nor in any
  uint32_t free_;
  std::vector<UnitIndex> victims_;
  size_t most_withheld_ = 0;
  mutable size_t asked_ = 0;
};

// Who leaves when `steps` come one after the other.
inline std::vector<UnitIndex> VictimsOf(std::string_view spec, const PolicyOptions& options,
                                        const std::vector<std::vector<UnitIndex>>& steps) {
  const auto policy = MakeOrDie(spec, options);
  Pool pool(*policy, options);
  uint64_t pass = 0;
  for (const std::vector<UnitIndex>& step : steps) pool.Step(++pass, step);
  return pool.victims();
}

}  // namespace berth::policies

#endif  // BERTH_TESTS_POLICIES_POOL_H_
