#include "runtime/trace/memory_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "berth/types.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/trace/info.h"

namespace berth {
namespace {

constexpr uint32_t kMaxMemoryExperts = std::numeric_limits<int16_t>::max();

class MemoryTrace final : public TraceFile {
 public:
  // `data` was checked.
  explicit MemoryTrace(TraceData data) : data_(std::move(data)) {
    info_ = std::move(data_.info);
    entries_ = size_t{info_.layers} * info_.top_k;
    for (auto& row : rows_) row.resize(entries_);
  }

  Result<std::span<const int32_t>> Experts(uint64_t row) override {
    return Row(data_.experts, row, &rows_[0]);
  }
  Result<std::span<const int32_t>> Predicted(uint64_t row, uint32_t ahead) override {
    if (ahead == 0 || ahead > info_.predictions_ahead) {
      return FailedPreconditionError("the trace has no predictions " + std::to_string(ahead) +
                                     " ahead");
    }
    return Row(ahead == 1 ? data_.predicted_1_ahead : data_.predicted_2_ahead, row, &rows_[ahead]);
  }
  Result<std::span<const float>> Weights(uint64_t row) override {
    if (!info_.has_router_weights) {
      return FailedPreconditionError("the trace has no router weights");
    }
    if (row >= info_.rows) return Beyond(row);
    return std::span<const float>(data_.weights).subspan(row * entries_, entries_);
  }
  uint64_t window_bytes() const override {
    const size_t ids =
        data_.experts.size() + data_.predicted_1_ahead.size() + data_.predicted_2_ahead.size();
    return ids * sizeof(int16_t) + data_.weights.size() * sizeof(float) +
           rows_.size() * entries_ * sizeof(int32_t);
  }

 private:
  Status Beyond(uint64_t row) const {
    return OutOfRangeError("row " + std::to_string(row) + " of " + std::to_string(info_.rows));
  }
  Result<std::span<const int32_t>> Row(const std::vector<int16_t>& column, uint64_t row,
                                       std::vector<int32_t>* to) {
    if (row >= info_.rows) return Beyond(row);
    const int16_t* from = column.data() + row * entries_;
    std::copy(from, from + entries_, to->begin());
    return std::span<const int32_t>(*to);
  }

  TraceData data_;
  size_t entries_ = 0;  // of a row
  std::array<std::vector<int32_t>, 3> rows_;
};

Status CheckIds(const TraceInfo& info, const std::vector<int16_t>& ids, const char* name) {
  const uint64_t entries = uint64_t{info.layers} * info.top_k;
  if (ids.size() / entries != info.rows || ids.size() % entries != 0) {
    return InvalidArgumentError(std::string("'") + name + "' has " + std::to_string(ids.size()) +
                                " entries, " + std::to_string(info.rows) + " rows of " +
                                std::to_string(entries) + " are needed");
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < kNoExpert || ids[i] >= static_cast<int64_t>(info.experts)) {
      return trace::IdOutOfRange(info, i / entries, i % entries, ids[i])
          .Annotate(std::string("'") + name + "'");
    }
  }
  return Status();
}

Status CheckWeights(const TraceInfo& info, const std::vector<float>& weights, size_t expected) {
  if (weights.size() != expected) {
    return InvalidArgumentError("'router_weights' has " + std::to_string(weights.size()) +
                                " entries, " + std::to_string(expected) + " are needed");
  }
  const uint64_t entries = uint64_t{info.layers} * info.top_k;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights[i])) continue;
    return OutOfRangeError("'router_weights', row " + std::to_string(i / entries) + ", layer " +
                           std::to_string(i % entries / info.top_k) + ": not a finite number");
  }
  return Status();
}

Status CheckExperts(const TraceInfo& info) {
  if (info.experts <= kMaxMemoryExperts) return Status();
  return InvalidArgumentError(std::to_string(info.experts) + " experts: a trace in memory has " +
                              "at most " + std::to_string(kMaxMemoryExperts));
}

// What the whole of it will take; false where that is beyond 64 bits.
bool MemoryOf(const TraceInfo& info, uint64_t* bytes) {
  const uint64_t per_entry = sizeof(int16_t) * (1 + info.predictions_ahead) +
                             (info.has_router_weights ? sizeof(float) : 0);
  return CheckedMul(info.rows, uint64_t{info.layers} * info.top_k * per_entry, bytes);
}

void AppendNarrow(std::span<const int32_t> ids, std::vector<int16_t>* to) {
  for (const int32_t id : ids) to->push_back(static_cast<int16_t>(id));
}

}  // namespace

Result<std::unique_ptr<TraceFile>> MakeMemoryTrace(TraceData data) {
  data.info.has_router_weights = !data.weights.empty();
  data.info.predictions_ahead = !data.predicted_2_ahead.empty()   ? 2
                                : !data.predicted_1_ahead.empty() ? 1
                                                                  : 0;
  BERTH_RETURN_IF_ERROR(trace::CheckTraceInfo(data.info));
  BERTH_RETURN_IF_ERROR(CheckExperts(data.info));
  BERTH_RETURN_IF_ERROR(CheckIds(data.info, data.experts, "experts"));
  if (data.info.predictions_ahead >= 1) {
    BERTH_RETURN_IF_ERROR(CheckIds(data.info, data.predicted_1_ahead, "predicted_1_ahead"));
  }
  if (data.info.predictions_ahead >= 2) {
    BERTH_RETURN_IF_ERROR(CheckIds(data.info, data.predicted_2_ahead, "predicted_2_ahead"));
  }
  if (data.info.has_router_weights) {
    BERTH_RETURN_IF_ERROR(CheckWeights(data.info, data.weights, data.experts.size()));
  }
  return std::unique_ptr<TraceFile>(std::make_unique<MemoryTrace>(std::move(data)));
}

Result<std::unique_ptr<TraceFile>> LoadMemoryTrace(const std::string& path, uint64_t max_bytes) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<TraceFile> file, TraceFile::Open(path));
  const TraceInfo& info = file->info();
  if (Status status = CheckExperts(info); !status.ok()) return status.Annotate(path);
  uint64_t bytes = std::numeric_limits<uint64_t>::max();
  if (!MemoryOf(info, &bytes) || bytes > max_bytes) {
    return ResourceExhaustedError(path + ": would take " + FormatBytes(bytes) +
                                  " of memory, more than the " + FormatBytes(max_bytes) +
                                  " allowed: cut it, or read it as a file");
  }
  TraceData data;
  data.info = info;
  const size_t all = info.rows * info.layers * info.top_k;
  data.experts.reserve(all);
  if (info.has_router_weights) data.weights.reserve(all);
  if (info.predictions_ahead >= 1) data.predicted_1_ahead.reserve(all);
  if (info.predictions_ahead >= 2) data.predicted_2_ahead.reserve(all);
  for (uint64_t row = 0; row < info.rows; ++row) {
    BERTH_ASSIGN_OR_RETURN(std::span<const int32_t> ids, file->Experts(row));
    AppendNarrow(ids, &data.experts);
    for (uint32_t ahead = 1; ahead <= info.predictions_ahead; ++ahead) {
      BERTH_ASSIGN_OR_RETURN(ids, file->Predicted(row, ahead));
      AppendNarrow(ids, ahead == 1 ? &data.predicted_1_ahead : &data.predicted_2_ahead);
    }
    if (!info.has_router_weights) continue;
    BERTH_ASSIGN_OR_RETURN(const std::span<const float> weights, file->Weights(row));
    data.weights.insert(data.weights.end(), weights.begin(), weights.end());
  }
  return std::unique_ptr<TraceFile>(std::make_unique<MemoryTrace>(std::move(data)));
}

}  // namespace berth
