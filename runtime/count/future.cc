#include "runtime/count/future.h"

#include <utility>

namespace berth {

Result<std::unique_ptr<Future>> Future::Find(TraceFile* trace, const PassOptions& passes,
                                             const std::string& temporary_folder) {
  CountWorkload workload;
  workload.passes = passes;
  workload.temporary_folder = temporary_folder;
  BERTH_ASSIGN_OR_RETURN(count::NextUseFile file,
                         count::NextUseFile::OfTrace(trace, workload, /*first_uses=*/true));
  std::unique_ptr<Future> future(new Future(std::move(file), trace->info()));
  BERTH_RETURN_IF_ERROR(future->file_.ReadReset(&future->next_use_));
  return future;
}

Future::Future(count::NextUseFile file, const TraceInfo& trace)
    : file_(std::move(file)), experts_(trace.experts), last_step_(trace.experts) {}

Status Future::BeginStep(uint32_t layer, std::span<const int32_t> ids) {
  ++step_;
  units_.clear();
  // As StepReader has them: in order of first appearance.
  for (const int32_t id : ids) {
    if (id == kNoExpert || std::exchange(last_step_[id], step_) == step_) continue;
    units_.push_back(layer * experts_ + static_cast<UnitIndex>(id));
  }
  uses_.resize(units_.size());
  BERTH_RETURN_IF_ERROR(file_.ReadUses(uses_));
  for (size_t at = 0; at < units_.size(); ++at) next_use_[units_[at]] = uses_[at];
  return Status();
}

}  // namespace berth
