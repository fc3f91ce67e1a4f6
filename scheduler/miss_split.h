// MissSplit: which missed units of a step the host computes and which are staged, and how much of
// the links is left for loads behind the step. Pure arithmetic on MissCosts.
//
// A step is forecast as two sides that run beside each other:
//
//   drive   [read][read]                                 units that RAM does not have
//   link    [lead][copy][copy][copy][tail]               staged units, per card
//   card    [hits......]              [call, last wave]
//   host    [unit][unit][unit][unit]                     units that the host computes
//
// From all units on the host, those that cost it most go to their card's link one by one, as long
// as the forecast end of the step does not come later for it; a test holds what comes out against
// every other split. Loads behind steps are forecast too:
// what the links have time for besides, and the rest of the model between two steps. Since the
// forecast is the same wherever it is made, so is what is decided by it.
#ifndef BERTH_SCHEDULER_MISS_SPLIT_H_
#define BERTH_SCHEDULER_MISS_SPLIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/miss_costs.h"

namespace berth::scheduler {

struct MissedUnit {
  uint32_t card = 0;
  uint32_t rows = 0;      // routed to it
  bool in_ram = false;    // else it is read first
  bool may_host = false;  // the host may compute it
  bool on_host = false;   // ... and does
};

class MissSplit {
 public:
  // `costs` outlives this. No allocation after this while a step has at most `max_units` misses.
  MissSplit(const MissCosts* costs, uint32_t cards, uint32_t chunk, uint32_t max_units);

  // ---- one step, in this order
  void BeginStep(uint32_t layer, uint32_t rows);
  void AddHit(uint32_t card, uint32_t rows);
  void AddMiss(const MissedUnit& unit) { units_.push_back(unit); }
  // Decides for every unit that may be computed by the host: `split`, by cost; else all of them.
  void Decide(bool split);
  // As they were added.
  std::span<const MissedUnit> units() const { return units_; }
  // When the step ends if it goes as `units` say, from its submission.
  uint64_t Forecast();
  // Whether a load behind this step would be over before the next one begins, or `slack` more.
  bool HasRoom(uint32_t card, uint32_t slack) const;
  // A load behind the step, or ahead of a later one.
  void AddLoad(uint32_t card, uint32_t layer);
  void EndStep();

 private:
  struct Card {
    // Of the step.
    uint64_t hits = 0;  // until its hits are computed
    uint32_t hit_units = 0;
    uint64_t link = 0;     // until its last copy is over
    uint64_t copying = 0;  // of that, copies
    uint32_t staged = 0;   // units
    uint64_t wave = 0;     // of the last wave's units
    uint64_t free = 0;     // of the link, until the step ends
    size_t next = 0;       // of its units, the first that was not tried on the link
    // Of loads that no step waits for: what is still to be copied of them.
    uint64_t backlog = 0;
  };
  void Split();
  void Play(const MissedUnit& unit, bool on_host, uint64_t* drive, uint64_t* host);

  const MissCosts* costs_;
  const uint32_t chunk_;
  uint32_t layer_ = 0;
  uint64_t rest_ = 0;
  std::vector<Card> cards_;
  std::vector<MissedUnit> units_;
  std::vector<uint32_t> order_;
};

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_MISS_SPLIT_H_
