#include "runtime/count/step_reader.h"

#include <algorithm>
#include <span>
#include <utility>

namespace berth::count {
namespace {

constexpr size_t kBlockUnits = 16384;

}  // namespace

Result<StepReader> StepReader::Create(TraceFile* trace, const CountWorkload& workload) {
  BERTH_ASSIGN_OR_RETURN(PassSource passes, PassSource::Create(trace->info(), workload.passes));
  return StepReader(trace, workload, std::move(passes));
}

StepReader::StepReader(TraceFile* trace, const CountWorkload& workload, PassSource passes)
    : trace_(trace),
      passes_(std::move(passes)),
      granularity_(workload.granularity),
      resets_(workload.between == Between::kReset),
      warmup_passes_(workload.warmup_passes),
      last_step_(size_t{trace->info().layers} * trace->info().experts),
      place_(last_step_.size()),
      layer_lookups_(trace->info().layers) {
  rows_ = passes_.Next();
}

Result<bool> StepReader::Next(StepBlock* block) {
  block->units.clear();
  block->rows.clear();
  block->next_uses.clear();
  block->first_uses.clear();
  block->runs.clear();
  if (rows_.empty()) return false;
  const auto resets = [this] { return resets_ && passes_.started() == passes_.running(); };
  block->reset = passes_read_ == 0 || resets();
  block->counted = CountedPass();
  do {
    BERTH_RETURN_IF_ERROR(Gather());
    granularity_ == Granularity::kStep ? AppendSteps(block) : AppendAccesses(block);
    ++passes_read_;
    rows_ = passes_.Next();
  } while (!rows_.empty() && !resets() && CountedPass() == block->counted &&
           block->units.size() < kBlockUnits);
  return true;
}

Status StepReader::Gather() {
  if (rows_.size() == 1) {
    BERTH_ASSIGN_OR_RETURN(ids_, trace_->Experts(rows_[0]));
    return Status();
  }
  const size_t row_ids = size_t{trace_->info().layers} * trace_->info().top_k;
  gathered_.resize(rows_.size() * row_ids);
  auto to = gathered_.begin();
  for (uint64_t row : rows_) {
    BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> ids, trace_->Experts(row));
    to = std::copy(ids.begin(), ids.end(), to);
  }
  ids_ = gathered_;
  return Status();
}

void StepReader::AppendSteps(StepBlock* block) {
  const TraceInfo& info = trace_->info();
  const size_t row_ids = size_t{info.layers} * info.top_k;
  for (uint32_t layer = 0; layer < info.layers; ++layer) {
    ++step_;
    const size_t before = block->units.size();
    const UnitIndex first_unit = layer * info.experts;
    for (size_t at = size_t{layer} * info.top_k; at < ids_.size(); at += row_ids) {
      for (uint32_t k = 0; k < info.top_k; ++k) {
        if (ids_[at + k] == kNoExpert) continue;
        const UnitIndex unit = first_unit + static_cast<UnitIndex>(ids_[at + k]);
        if (std::exchange(last_step_[unit], step_) != step_) {
          place_[unit] = block->units.size();
          block->units.push_back(unit);
          block->rows.push_back(0);
        }
        ++block->rows[place_[unit]];
      }
    }
    block->runs.push_back({passes_read_, static_cast<uint32_t>(block->units.size()), layer});
    if (block->counted) layer_lookups_[layer] += block->units.size() - before;
  }
}

void StepReader::AppendAccesses(StepBlock* block) {
  const TraceInfo& info = trace_->info();
  const size_t begin = block->units.size();
  block->units.resize(begin + ids_.size());
  UnitIndex* const units = block->units.data();
  size_t end = begin;
  for (const int32_t* ids = ids_.data(); ids != ids_.data() + ids_.size();) {
    for (uint32_t layer = 0; layer < info.layers; ++layer, ids += info.top_k) {
      const size_t before = end;
      const UnitIndex first_unit = layer * info.experts;
      for (uint32_t k = 0; k < info.top_k; ++k) {
        units[end] = first_unit + static_cast<UnitIndex>(ids[k]);
        end += ids[k] == kNoExpert ? 0 : 1;
      }
      block->runs.push_back({passes_read_, static_cast<uint32_t>(end), layer});
      if (block->counted) layer_lookups_[layer] += end - before;
    }
  }
  block->units.resize(end);
}

}  // namespace berth::count
