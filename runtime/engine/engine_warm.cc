// Engine: filling the arenas and the host tier before the first step.
#include <algorithm>
#include <span>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/engine/engine.h"

namespace berth {

// In batches that the core's and the streams' queues hold. What comes in, and in which order, is
// decided by the heat alone.
void Engine::Preload() {
  std::vector<UnitIndex> units;
  size_t batch = 0;
  {
    MutexLock lock(&mutex_);
    units = core_->WarmUnits();
    batch = core_->warm_batch();
  }
  for (size_t at = 0; at < units.size(); at += batch) {
    {
      MutexLock lock(&mutex_);
      const Status submitted =
          core_->SubmitWarm(std::span(units).subspan(at, std::min(batch, units.size() - at)));
      BERTH_CHECK_MSG(submitted.ok(), submitted.ToString().c_str());
      Settle();
    }
    WaitIdle();
  }
  MutexLock lock(&mutex_);
  const auto missing = [this](UnitIndex unit) { return !core_->Holds(unit); };
  const auto failed = std::count_if(units.begin(), units.end(), missing);
  if (failed == 0) return;
  const auto first = std::find_if(units.begin(), units.end(), missing);
  info_.notes.push_back("preload: " + FormatCount(static_cast<uint64_t>(failed)) + " of " +
                        FormatCount(units.size()) + " units could not be loaded, one of them " +
                        catalog_->Describe(*first) + ": `berth verify` says what is wrong");
}

}  // namespace berth
