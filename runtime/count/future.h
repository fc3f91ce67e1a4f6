// Future: when each unit of a trace is used next, kept up to date while its steps are played, for
// drivers of policies that need the future (PolicyInfo::needs_future).
//
// Finding it reads the whole trace once; then the trace is free for others. The next uses lie in a
// file without a name (8 bytes per unit and step), so memory does not grow with the trace.
#ifndef BERTH_RUNTIME_COUNT_FUTURE_H_
#define BERTH_RUNTIME_COUNT_FUTURE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/count/next_use_file.h"
#include "runtime/run/pass_source.h"
#include "runtime/trace/trace.h"

namespace berth {

class Future {
 public:
  // `temporary_folder` empty: the system's. ResourceExhausted where it has no room.
  static Result<std::unique_ptr<Future>> Find(TraceFile* trace, const PassOptions& passes,
                                              const std::string& temporary_folder = "");

  // [units of the model], numbered as PolicyOptions::next_use says; before the first step the first
  // uses. Stays where it is; BeginStep alone changes it.
  std::span<const uint64_t> next_use() const { return next_use_; }

  // The steps of the trace's passes in turn, each before its units are touched. `ids`:
  // [rows][top_k] of its rows. DataLoss where the trace is not what it was.
  Status BeginStep(uint32_t layer, std::span<const int32_t> ids);

 private:
  Future(count::NextUseFile file, const TraceInfo& trace);

  count::NextUseFile file_;
  uint32_t experts_;
  std::vector<uint64_t> next_use_;
  std::vector<UnitIndex> units_;     // of the step at hand
  std::vector<uint64_t> uses_;       // of each of them, the next one
  std::vector<uint64_t> last_step_;  // by expert
  uint64_t step_ = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_COUNT_FUTURE_H_
