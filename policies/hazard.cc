#include "policies/hazard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace berth::policies {
namespace {

constexpr uint32_t kLooksPerTouch = 2;
constexpr uint32_t kTouchesPerRefresh = 32;
constexpr uint32_t kTouchesAtFirst = 4096;
// Evidence loses half its weight after this many looks at every unit.
constexpr double kLooksPerHalving = 128;
// The factors of late begin after this many looks at every unit. Their evidence keeps a third of
// its weight over this many touches a unit, and they are brought up to date this often meanwhile.
constexpr double kLooksBeforeLate = 64;
constexpr uint32_t kLateTouchesPerUnit = 2;
constexpr uint32_t kLateRefreshes = 8;
constexpr uint32_t kMostGroups = 64;  // bits of passed_over_
constexpr uint32_t kUnitsPerGroup = 32;
constexpr uint32_t kPowers = 512;  // turns after which a count is as good as gone
// Guesses are kept through the turn at hand and the next.
constexpr uint32_t kGuessTurns = 1;
constexpr double kPassesOfRows = 32;  // that the usual number of rows is a mean of
constexpr double kNoBound = std::numeric_limits<double>::infinity();

std::vector<float> PowersOf(double decay) {
  std::vector<float> powers;
  double power = 1;
  for (uint32_t at = 0; at < kPowers; ++at, power *= decay) {
    powers.push_back(static_cast<float>(power));
  }
  return powers;
}

Result<bool> Flag(Params& params, std::string_view key) {
  BERTH_ASSIGN_OR_RETURN(const uint64_t value, params.Count(key, 1, 0, 1));
  return value == 1;
}

}  // namespace

class HazardPolicy::NotOfStep final : public Evictable {
 public:
  explicit NotOfStep(const HazardPolicy& policy) : policy_(policy) {}
  bool operator()(UnitIndex unit) const override {
    return policy_.units_[policy_.range_.Local(unit)].last_step != policy_.step_;
  }

 private:
  const HazardPolicy& policy_;
};

Result<std::unique_ptr<Policy>> HazardPolicy::Make(Params& params, const PolicyOptions& options) {
  HazardOptions hazard;
  BERTH_ASSIGN_OR_RETURN(hazard.slow, params.Number("slow", hazard.slow, 0.9, 0.99));
  BERTH_ASSIGN_OR_RETURN(hazard.fast, params.Number("fast", hazard.fast, 0.5, 0.9));
  BERTH_ASSIGN_OR_RETURN(hazard.bypass, Flag(params, "bypass"));
  BERTH_ASSIGN_OR_RETURN(hazard.learn, Flag(params, "learn"));
  BERTH_ASSIGN_OR_RETURN(hazard.turns, Flag(params, "turns"));
  BERTH_RETURN_IF_ERROR(params.Finish());
  return std::unique_ptr<Policy>(new HazardPolicy(options, hazard));
}

HazardPolicy::HazardPolicy(const PolicyOptions& options, const HazardOptions& hazard)
    : range_(options),
      options_(hazard),
      slots_(options.slots),
      top_k_(std::max(1u, options.top_k)),
      odds_(hazard.slow, hazard.fast, hazard.learn),
      units_(options.units),
      most_groups_(hazard.turns ? std::clamp(options.units / kUnitsPerGroup, 1u, kMostGroups) : 1),
      lists_(options.units, most_groups_, odds_.classes() + 1),
      slow_powers_(PowersOf(hazard.slow)),
      fast_powers_(PowersOf(hazard.fast)),
      bounds_(most_groups_, kNoBound),
      urgency_(2 * most_groups_ + 1, 1),
      until_refresh_(kTouchesPerRefresh),
      touches_per_late_refresh_(std::max(1u, kLateTouchesPerUnit * options.units / kLateRefreshes)),
      until_late_refresh_(touches_per_late_refresh_) {
  double highest = 0;
  for (double heat : options.heat) highest = std::max(highest, heat);
  const double most = 1 / (1 - hazard.slow);
  const double scale = highest > most ? most / highest : 1;
  for (size_t at = 0; at < options.heat.size(); ++at) {
    Unit& unit = units_[at];
    unit.slow_count = static_cast<float>(options.heat[at] * scale);
    unit.known = unit.slow_count > 0;
    // What the same rate leaves in the fast count.
    unit.fast_count = static_cast<float>(unit.slow_count * (1 - hazard.slow) / (1 - hazard.fast));
    unit.klass = static_cast<uint8_t>(odds_.ClassOf(unit.slow_count, unit.fast_count));
  }
}

void HazardPolicy::BeginStep(uint64_t pass) {
  in_step_ = false;
  foreseen_ = ClassLists::kNone;
  lists_.BeginStep();
  AdvanceTo(pass);
  for (; passed_over_ != 0; passed_over_ &= passed_over_ - 1) {
    ForgetBound(static_cast<uint32_t>(std::countr_zero(passed_over_)));
  }
}

void HazardPolicy::AdvanceTo(uint64_t pass) {
  if (!started_) {
    started_ = true;
    first_pass_ = pass;
  }
  BERTH_CHECK_MSG(pass >= first_pass_ + pass_, "the pass number went back");
  const uint64_t gap = pass - first_pass_ - pass_;
  if (gap == 0) return;
  // A leap is one pass for the odds: nobody had a turn in between.
  odds_.Cover(0, range_.units());
  pass_ = static_cast<uint32_t>(
      std::min<uint64_t>(pass - first_pass_, std::numeric_limits<uint32_t>::max()));
  if (gap > 1) ForgetBounds();
  if (turns_of_pass_ > 0) {
    turns_of_last_pass_ = turns_of_pass_;
    const double rows = std::max(1.0, static_cast<double>(rows_) / (turns_of_pass_ * top_k_));
    rows_of_turn_ += (rows - rows_of_turn_) / kPassesOfRows;
    rows_ = 0;
  }
  turns_of_pass_ = 0;
}

// The first touch of a step: it is some group's turn.
void HazardPolicy::BeginTurn() {
  in_step_ = true;
  ++step_;
  const uint64_t place = turns_of_pass_++;
  const uint64_t turns = std::max<uint64_t>(turns_of_last_pass_, 1);
  const uint64_t group = turns <= most_groups_ ? place : place * most_groups_ / turns;
  group_ = static_cast<uint32_t>(std::min<uint64_t>(group, most_groups_ - 1));
  ForgetBound(group_);
  Sample();
  if (group_ < groups_) return;
  groups_ = group_ + 1;
  for (uint32_t to_go = 1; to_go <= groups_; ++to_go) {
    const double urgency = std::sqrt(static_cast<double>(groups_) / to_go);
    urgency_[groups_ + to_go] = urgency;
    urgency_[to_go] = urgency;
  }
}

void HazardPolicy::Decay(Unit* unit) const {
  const uint32_t gap = pass_ - unit->last_pass;
  unit->slow_count *= gap < kPowers ? slow_powers_[gap] : 0;
  unit->fast_count *= gap < kPowers ? fast_powers_[gap] : 0;
  unit->last_pass = pass_;
}

// Turns that went by without the unit. The turn of a later group is still to come in this pass.
uint32_t HazardPolicy::Missed(uint32_t group, uint32_t last_pass) const {
  const uint32_t passes = pass_ - last_pass;
  return passes > 0 && group > group_ ? passes - 1 : passes;
}

double HazardPolicy::WorthOf(uint32_t local) const {
  const Unit& unit = units_[local];
  const uint32_t missed = Missed(unit.group, unit.last_pass);
  // A worth is a chance, so nothing is worth more than 1.
  if (unit.guess && missed <= kGuessTurns) return 1;
  return unit.known ? odds_.Worth(unit.klass, missed) : 0;
}

// Rows of one prompt say less than as many turns: they are of one text, and what follows it
// differs. Taken one for one they are worse than counted as one touch; the fourth root was best.
float HazardPolicy::TouchesOf(uint32_t rows) {
  rows_ += rows;
  if (rows == 1) return 1;
  const double turns = rows / rows_of_turn_;
  return turns > 1 ? static_cast<float>(std::sqrt(std::sqrt(turns))) : 1;
}

void HazardPolicy::Touched(UnitIndex unit, bool resident, uint32_t rows) {
  const uint32_t local = range_.Local(unit);
  if (resident) Unlink(local);
  if (!in_step_) BeginTurn();
  looks_due_ += kLooksPerTouch;
  Refresh();
  RefreshLate();

  Unit& touched = units_[local];
  Judge(&touched, true);
  // Its place in a pass may have changed: ages in turns are those of a touch in the same place.
  if (touched.known && !touched.guess && touched.last_pass < pass_) {
    odds_.Returned(touched.klass, pass_ - touched.last_pass - 1);
  }
  Decay(&touched);
  const auto most = [](double decay) { return static_cast<float>(1 / (1 - decay)); };
  const float touches = TouchesOf(rows);
  touched.slow_count = std::min(touched.slow_count + touches, most(options_.slow));
  touched.fast_count = std::min(touched.fast_count + touches, most(options_.fast));
  touched.klass = static_cast<uint8_t>(odds_.ClassOf(touched.slow_count, touched.fast_count));
  touched.group = static_cast<uint8_t>(group_);
  touched.last_step = step_;
  touched.known = true;
  touched.guess = false;
  if (resident) PushNewest(local);
}

// A hand goes round the units, so that each is looked at as often as the others; between steps, so
// that all of a group have had their turn or none has.
void HazardPolicy::Sample() {
  odds_.Cover(looks_due_, 0);
  for (; looks_due_ > 0; --looks_due_) {
    Unit& unit = units_[hand_];
    hand_ = hand_ + 1 == range_.units() ? 0 : hand_ + 1;
    Judge(&unit, false);
    if (!unit.known || unit.guess) continue;
    const uint32_t passes = pass_ - unit.last_pass;
    odds_.Sampled(unit.klass, passes > 0 && unit.group >= group_ ? passes - 1 : passes);
  }
}

void HazardPolicy::Refresh() {
  ++touches_;
  if (touches_ <= kTouchesAtFirst && std::has_single_bit(touches_) && touches_ >= 32) {
    odds_.RefreshAll();
    ForgetBounds();
  }
  if (--until_refresh_ > 0) return;
  until_refresh_ = kTouchesPerRefresh;
  if (!odds_.RefreshOne()) return;
  ForgetBounds();
  if (odds_.taken() > kLooksPerHalving * range_.units()) odds_.Age();
}

void HazardPolicy::RefreshLate() {
  if (--until_late_refresh_ > 0) return;
  until_late_refresh_ = touches_per_late_refresh_;
  if (odds_.taken() < kLooksBeforeLate * range_.units()) return;
  odds_.RefreshLate(1 - 1.0 / kLateRefreshes);
  ForgetBounds();
}

// Whether the unit that was kept for this one has been touched first.
void HazardPolicy::Judge(Unit* unit, bool touched) {
  if (unit->rival == ClassLists::kNone) return;
  const bool right = units_[unit->rival].last_step > unit->refused_step;
  if (!right && !touched) return;
  refusals_.Judged(right);
  unit->rival = ClassLists::kNone;
}

bool HazardPolicy::Admit(UnitIndex unit) {
  foreseen_ = ClassLists::kNone;
  const uint32_t local = range_.Local(unit);
  if (!options_.bypass || residents_ < slots_ || !in_step_) return true;
  if (units_[local].last_step != step_) return true;
  const Choice least = Find(NotOfStep(*this));
  if (least.unit != ClassLists::kNone && WorthOf(local) < least.worth) {
    units_[local].rival = least.unit;
    units_[local].refused_step = step_;
    if (!refusals_.Losing()) return false;
  }
  foreseen_ = least.unit;
  return true;
}

void HazardPolicy::Unlink(uint32_t local) {
  lists_.Remove(local);
  const uint32_t group = units_[local].group;
  if (lists_.occupied(group) == 0) bounds_[group] = kNoBound;
}

void HazardPolicy::PushNewest(uint32_t local) {
  const Unit& unit = units_[local];
  lists_.PushNewest(local, unit.group, unit.guess ? odds_.classes() : unit.klass, unit.last_pass);
  bounds_[unit.group] = std::min(bounds_[unit.group], WorthOf(local));
}

void HazardPolicy::Inserted(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  BERTH_CHECK_MSG(!lists_.Contains(local), "a unit that is resident was inserted");
  Unit& inserted = units_[local];
  if (!in_step_ || inserted.last_step != step_) {
    Decay(&inserted);
    inserted.guess = true;
    if (!inserted.known) inserted.group = static_cast<uint8_t>(group_);
  }
  PushNewest(local);
  ++residents_;
}

void HazardPolicy::Erased(UnitIndex unit) {
  const uint32_t local = range_.Local(unit);
  Unlink(local);
  if (foreseen_ == local) foreseen_ = ClassLists::kNone;
  units_[local].guess = false;
  --residents_;
}

UnitIndex HazardPolicy::NextVictim(const Evictable& evictable) {
  // What Admit found among more units is still the least if it may leave at all.
  uint32_t victim = foreseen_;
  foreseen_ = ClassLists::kNone;
  if (victim == ClassLists::kNone || !evictable(range_.Global(victim))) {
    victim = Find(evictable).unit;
  }
  if (victim == ClassLists::kNone) return kNoUnit;
  const Unit& unit = units_[victim];
  const double since_turn =
      unit.group > group_ ? groups_ - (unit.group - group_) : group_ - unit.group;
  odds_.Left(Missed(unit.group, unit.last_pass) + since_turn / groups_);
  return range_.Global(victim);
}

uint32_t HazardPolicy::LeastGroup(double* next_bound) const {
  uint32_t least = ClassLists::kNone;
  double bound = kNoBound;
  *next_bound = kNoBound;
  const double* const urgency = &urgency_[groups_ - group_];
  for (uint32_t group = 0; group < groups_; ++group) {
    const double worth = bounds_[group] * urgency[group];
    if (worth < bound) {
      *next_bound = bound;
      bound = worth;
      least = group;
    } else if (worth < *next_bound) {
      *next_bound = worth;
    }
  }
  return least;
}

HazardPolicy::Choice HazardPolicy::LeastOf(uint32_t group, const Evictable& evictable) {
  Choice least;
  for (uint64_t left = lists_.occupied(group); left != 0; left &= left - 1) {
    const auto klass = static_cast<uint32_t>(std::countr_zero(left));
    for (uint32_t unit = lists_.Candidate(group, klass); unit != ClassLists::kNone;
         unit = lists_.Candidate(group, klass)) {
      const double worth = klass < odds_.classes()
                               ? odds_.Worth(klass, Missed(group, lists_.time(unit)))
                               : WorthOf(unit);
      if (least.unit != ClassLists::kNone && worth >= least.worth) break;
      if (evictable(range_.Global(unit))) {
        least = {unit, worth};
        break;
      }
      lists_.PassOver(group, klass);
      passed_over_ |= uint64_t{1} << group;
    }
  }
  return least;
}

// Each round raises a bound to what the group's least unit is worth, until one group's least is
// below the bounds of the others.
HazardPolicy::Choice HazardPolicy::Find(const Evictable& evictable) {
  while (true) {
    double next_bound;
    const uint32_t group = LeastGroup(&next_bound);
    if (group == ClassLists::kNone) return Choice();
    Choice least = LeastOf(group, evictable);
    if (least.unit == ClassLists::kNone) {
      bounds_[group] = kNoBound;  // for this step: its units were passed over
      continue;
    }
    bounds_[group] = least.worth;
    least.worth *= Urgency(group);
    if (least.worth <= next_bound) return least;
  }
}

void HazardPolicy::ForgetBounds() {
  // Those of units that may not leave in this step are found again.
  for (uint32_t group = 0; group < groups_; ++group) ForgetBound(group);
}

void HazardPolicy::Learned(std::span<double> heat) const {
  BERTH_CHECK(heat.size() == units_.size());
  for (size_t at = 0; at < heat.size(); ++at) {
    Unit unit = units_[at];
    Decay(&unit);
    heat[at] = unit.slow_count;
  }
}

}  // namespace berth::policies
