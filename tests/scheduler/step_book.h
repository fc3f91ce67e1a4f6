// StepBook: what became of each step. Every pair is computed once, from the right unit; every step
// is answered once; one that fails names a fault that it met; one that was computed with a wrong
// bit routes to a unit of which a wrong bit was read.
#ifndef BERTH_TESTS_SCHEDULER_STEP_BOOK_H_
#define BERTH_TESTS_SCHEDULER_STEP_BOOK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/actions.h"
#include "scheduler/geometry.h"
#include "tests/scheduler/promises.h"

namespace berth::scheduler {

class StepBook {
 public:
  StepBook(const Geometry& geometry, Promises* promises);

  // The cookie of the step.
  uint64_t Add(uint32_t layer, std::span<const int32_t> ids);
  void Refused(uint64_t cookie) { steps_[cookie].done = true; }
  void BeginWave(const ComputeAction& action);
  // `flipped`: of the wave's units, those whose bytes were wrong.
  void EndWave(const ComputeAction& action, std::span<const UnitIndex> flipped);
  void Done(uint64_t cookie, const Status& status);
  bool done(uint64_t cookie) const { return steps_[cookie].done; }

  // Faults that steps may name from here on.
  void UnitFailed(UnitIndex unit) { ++unit_failures_[unit]; }
  void WaveFailed(uint64_t cookie) { steps_[cookie].wave_failed = true; }
  void UnitFlipped(UnitIndex unit) { ++unit_flips_[unit]; }
  void Closed() { closed_ = true; }
  // Steps that are added from here on may not fail any more.
  void Healed() { healed_from_ = steps_.size(); }

  void CheckAllDone();
  uint64_t failed() const { return failed_; }
  // Steps that are done, and whose result carries a wrong bit.
  uint64_t carrying() const { return carrying_; }

 private:
  struct Step {
    uint32_t layer = 0;
    uint32_t waves_running = 0;
    bool done = false;
    bool wave_failed = false;
    bool carries = false;
    std::vector<int32_t> ids;
    std::vector<uint8_t> seen;  // waves that had the pair
  };
  bool RoutesTo(const Step& step, uint64_t unit) const;
  void CheckFailure(const Step& step, uint64_t cookie, const Status& status);

  const Geometry& geometry_;
  Promises* promises_;
  std::vector<Step> steps_;
  std::vector<uint32_t> unit_failures_, unit_flips_;
  uint64_t healed_from_ = UINT64_MAX;
  uint64_t failed_ = 0;
  uint64_t carrying_ = 0;
  bool closed_ = false;
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_STEP_BOOK_H_
