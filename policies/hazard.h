// Hazard: the unit whose slot is worth least leaves, by odds of return that are learned online; a
// unit that is worth less than all others does not come in.
//
// Worth (return_odds.h) goes by a unit's class, which is how often it had been touched when it was
// touched last, and by its age, the number of its layer's turns that have missed it since. Units of
// one class lose worth in the order of their last touches, so a pool keeps one list per class and a
// victim is the least of the lists' oldest units. Where only age tells, that is LRU; where only
// counts tell, decayed LFU; in a loop that does not fit, the newcomers stay outside.
//
// Where a pool serves many layers, worth alone would evict what the very next layers need: the
// oldest units are those whose turn is nearest. A *group* is the units whose layers have their turn
// at the same place of a pass (learned from the last pass); lists are kept per group, and a unit
// counts as worth more the nearer its turn is: by the square root of the cycle over the steps to
// go. Each group remembers a lower bound of what its units are worth, so that a victim costs one
// look at each group's bound and one search in a group or two.
//
// Admission: a missed unit of the step at hand is let in if its slot is worth as much with it as
// with the victim; and while refusals turn out wrong (refusals.h: the unit is back before the
// victim that was kept for it), as after prompts that touch a good part of a layer, all are let in.
// What a hint or a lease brings in is let in always; until a step routes to it, it is kept through
// the turn at hand and the next.
//
// A touch by more rows than turns have had of late, as in a prompt, counts as more than one.
//
// A profile (PolicyOptions::heat) gives the starting slow counts, scaled down where the highest is
// more than touches at every turn would leave. Memory: about 70 bytes a unit, and 65 KiB of
// tables a pool.
#ifndef BERTH_POLICIES_HAZARD_H_
#define BERTH_POLICIES_HAZARD_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/class_lists.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/refusals.h"
#include "policies/return_odds.h"
#include "policies/unit_range.h"

namespace berth::policies {

struct HazardOptions {
  double slow = 0.98;  // decays of the two counts, per turn
  double fast = 0.875;
  // What can be left out, to see what it is good for.
  bool bypass = true;  // newcomers may be refused
  bool learn = true;   // else the odds stay what the counts alone say
  bool turns = true;   // else all units stand in one group
};

class HazardPolicy final : public Policy {
 public:
  // Keys: slow, fast (per turn), bypass, learn, turns (1 or 0).
  static Result<std::unique_ptr<Policy>> Make(Params& params, const PolicyOptions& options);

  HazardPolicy(const PolicyOptions& options, const HazardOptions& hazard);

  std::string_view name() const override { return "hazard"; }
  void BeginStep(uint64_t pass) override;
  void Touched(UnitIndex unit, bool resident, uint32_t rows) override;
  bool Admit(UnitIndex unit) override;
  void Inserted(UnitIndex unit) override;
  void Erased(UnitIndex unit) override;
  UnitIndex NextVictim(const Evictable& evictable) override;
  // Slow counts as of the pass at hand.
  void Learned(std::span<double> heat) const override;

 private:
  struct Unit {
    float slow_count = 0, fast_count = 0;  // as of last_pass
    uint32_t last_pass = 0;                // after the first
    uint32_t last_step = 0;                // 0: never
    // Worth more than this unit when it was missed in that step; kNone: judged, or never.
    uint32_t rival = ClassLists::kNone;
    uint32_t refused_step = 0;
    uint8_t klass = 0;
    uint8_t group = 0;
    bool known = false;  // touched, or in the profile
    bool guess = false;  // brought in, not touched since
  };
  struct Choice {
    uint32_t unit = ClassLists::kNone;
    double worth = 0;
  };
  class NotOfStep;

  float TouchesOf(uint32_t rows);
  void AdvanceTo(uint64_t pass);
  void BeginTurn();
  void Sample();
  void Refresh();
  void RefreshLate();
  void Judge(Unit* unit, bool touched);
  void Decay(Unit* unit) const;
  uint32_t Missed(uint32_t group, uint32_t last_pass) const;
  double WorthOf(uint32_t local) const;
  void PushNewest(uint32_t local);
  void Unlink(uint32_t local);
  double Urgency(uint32_t group) const { return urgency_[group + groups_ - group_]; }
  // The group with the least bound by urgency; that of the next one goes to *next_bound.
  uint32_t LeastGroup(double* next_bound) const;
  Choice LeastOf(uint32_t group, const Evictable& evictable);
  // Worth by urgency.
  Choice Find(const Evictable& evictable);
  void ForgetBounds();
  void ForgetBound(uint32_t group) {
    if (lists_.occupied(group) != 0) bounds_[group] = 0;
  }

  UnitRange range_;
  HazardOptions options_;
  uint32_t slots_;
  uint32_t top_k_;
  ReturnOdds odds_;
  Refusals refusals_;
  std::vector<Unit> units_;
  uint32_t most_groups_;
  ClassLists lists_;  // the resident units; the last class is for guesses
  std::vector<float> slow_powers_, fast_powers_;

  bool started_ = false;
  uint64_t first_pass_ = 0;
  uint32_t pass_ = 0;           // after the first
  uint32_t step_ = 0;           // steps that touched units
  bool in_step_ = false;        // the step at hand touched units
  uint32_t turns_of_pass_ = 0;  // so far
  uint32_t turns_of_last_pass_ = 1;
  uint32_t group_ = 0;           // at the step at hand
  uint32_t groups_ = 1;          // in use
  std::vector<double> bounds_;   // of each group: none that may leave is worth less; infinite: none
  std::vector<double> urgency_;  // by steps to go, of groups_, from 1; then once more
  uint64_t passed_over_ = 0;     // bit g: the bound of group g holds for this step only
  uint32_t residents_ = 0;
  uint32_t foreseen_ = ClassLists::kNone;  // the victim that Admit has found
  uint32_t hand_ = 0;                      // the unit to look at next
  uint32_t looks_due_ = 0;                 // at the next step
  uint32_t until_refresh_;
  uint32_t touches_per_late_refresh_, until_late_refresh_;
  uint32_t touches_ = 0;
  // Rows that routed to units in this pass, and how many a turn has had in passes of late.
  uint64_t rows_ = 0;
  double rows_of_turn_ = 1;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_HAZARD_H_
