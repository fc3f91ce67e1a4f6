#include "runtime/run/replay.h"

#include <algorithm>
#include <string>
#include <vector>

namespace berth {
namespace {

// Routing of all layers of one pass, laid out as steps want it: [layers][rows][top_k].
class PassRouting {
 public:
  PassRouting(const TraceInfo& info, uint32_t max_rows, uint32_t ahead)
      : layers_(info.layers), top_k_(info.top_k), ahead_(ahead) {
    const size_t entries = static_cast<size_t>(layers_) * max_rows * top_k_;
    ids_.resize(entries);
    if (info.has_router_weights) weights_.resize(entries);
    if (ahead > 0) predicted_.resize(entries);
  }

  Status Load(TraceFile* trace, std::span<const uint64_t> rows) {
    rows_ = rows;
    for (size_t r = 0; r < rows.size(); ++r) {
      BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> ids, trace->Experts(rows[r]));
      Spread(ids, r, &ids_);
      if (!weights_.empty()) {
        BERTH_ASSIGN_OR_RETURN(const std::span<const float> weights, trace->Weights(rows[r]));
        Spread(weights, r, &weights_);
      }
      if (ahead_ > 0) {
        BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> early,
                               trace->Predicted(rows[r], ahead_));
        Spread(early, r, &predicted_);
      }
    }
    return Status();
  }

  ReplayStep Step(uint32_t layer, uint64_t pass) const {
    ReplayStep step;
    step.layer = layer;
    step.pass = pass;
    step.rows = rows_;
    step.ids = Of(layer, ids_);
    if (!weights_.empty()) step.weights = Of(layer, weights_);
    return step;
  }
  std::span<const int32_t> Predicted(uint32_t layer) const { return Of(layer, predicted_); }

 private:
  template <typename T>
  void Spread(std::span<const T> row, size_t r, std::vector<T>* to) const {
    for (size_t l = 0; l < layers_; ++l) {
      std::copy_n(&row[l * top_k_], top_k_, &(*to)[(l * rows_.size() + r) * top_k_]);
    }
  }
  template <typename T>
  std::span<const T> Of(uint32_t layer, const std::vector<T>& all) const {
    const size_t entries = rows_.size() * top_k_;
    return {&all[layer * entries], entries};
  }

  const size_t layers_;
  const size_t top_k_;
  const uint32_t ahead_;
  std::span<const uint64_t> rows_;
  std::vector<int32_t> ids_, predicted_;
  std::vector<float> weights_;
};

// What the early routers of a pass's rows want of one layer, most votes first.
class Votes {
 public:
  explicit Votes(uint32_t experts) : votes_(experts, 0) {}

  // Valid until the next call.
  std::span<const int32_t> Count(std::span<const int32_t> predicted, uint64_t most) {
    wanted_.clear();
    for (const int32_t id : predicted) {
      if (id != kNoExpert && votes_[id]++ == 0) wanted_.push_back(id);
    }
    // Stable: equal votes stay in order of first appearance.
    std::stable_sort(wanted_.begin(), wanted_.end(),
                     [this](int32_t a, int32_t b) { return votes_[a] > votes_[b]; });
    for (const int32_t id : wanted_) votes_[id] = 0;
    if (wanted_.size() > most) wanted_.resize(most);
    return wanted_;
  }

 private:
  std::vector<uint32_t> votes_;  // by expert; all 0 between calls
  std::vector<int32_t> wanted_;
};

Status CheckPrefetch(const TraceInfo& info, const ReplayOptions& options) {
  const PrefetchOptions& prefetch = options.prefetch;
  if (prefetch.step_bytes == 0) return Status();
  if (prefetch.ahead < 1 || prefetch.ahead > 2) {
    return InvalidArgumentError("--prefetch-ahead " + std::to_string(prefetch.ahead) +
                                ": routers are asked 1 or 2 layers ahead");
  }
  if (info.predictions_ahead < prefetch.ahead) {
    return InvalidArgumentError(
        "--prefetch: the trace has no predicted_" + std::to_string(prefetch.ahead) +
        "_ahead, what early routers said: leave it out, or " +
        (info.predictions_ahead > 0 ? "give --prefetch-ahead 1" : "replay a trace that has it"));
  }
  if (options.layer_unit_bytes.size() != info.layers) {
    return InvalidArgumentError("--prefetch: unit bytes of " +
                                std::to_string(options.layer_unit_bytes.size()) +
                                " layers for a trace of " + std::to_string(info.layers));
  }
  for (const uint64_t bytes : options.layer_unit_bytes) {
    if (bytes == 0) return InvalidArgumentError("--prefetch: a layer's units have 0 bytes");
  }
  return Status();
}

}  // namespace

uint64_t ReplayBytes(const TraceInfo& info, uint32_t max_rows, const PrefetchOptions& prefetch) {
  const uint64_t entries = static_cast<uint64_t>(info.layers) * max_rows * info.top_k;
  return entries * ((prefetch.step_bytes > 0 ? 2 : 1) * sizeof(int32_t) +
                    (info.has_router_weights ? sizeof(float) : 0));
}

Status Replay(TraceFile* trace, PassSource* source, const ReplayOptions& options,
              ReplayTarget* target) {
  const TraceInfo& info = trace->info();
  BERTH_RETURN_IF_ERROR(CheckPrefetch(info, options));
  const uint32_t ahead = options.prefetch.step_bytes > 0 ? options.prefetch.ahead : 0;
  PassRouting routing(info, source->max_rows(), ahead);
  Votes votes(info.experts);
  uint64_t pass = 0;
  for (std::span<const uint64_t> rows; !(rows = source->Next()).empty(); ++pass) {
    BERTH_RETURN_IF_ERROR(routing.Load(trace, rows));
    for (uint32_t layer = 0; layer < info.layers; ++layer) {
      const ReplayStep step = routing.Step(layer, pass);
      BERTH_RETURN_IF_ERROR(target->Step(step));
      // The next pass's first layers cannot be foretold: its rows are not there yet.
      if (const uint32_t later = layer + ahead; ahead > 0 && later < info.layers) {
        const std::span<const int32_t> wanted =
            votes.Count(routing.Predicted(later),
                        options.prefetch.step_bytes / options.layer_unit_bytes[later]);
        if (!wanted.empty()) BERTH_RETURN_IF_ERROR(target->Hint(later, wanted, pass));
      }
      BERTH_RETURN_IF_ERROR(target->EndStep(step));
    }
    if (options.progress) options.progress(pass + 1, source->passes());
  }
  return Status();
}

}  // namespace berth
