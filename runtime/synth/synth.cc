#include "runtime/synth/synth.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/synth/request_lengths.h"
#include "runtime/trace/memory_trace.h"

namespace berth {

Result<std::unique_ptr<SynthTrace>> SynthTrace::Create(const SynthOptions& options) {
  BERTH_RETURN_IF_ERROR(CheckSynthOptions(options));
  return std::unique_ptr<SynthTrace>(new SynthTrace(options));
}

SynthTrace::SynthTrace(const SynthOptions& options) : options_(options) {
  info_.layers = options_.layers;
  info_.experts = options_.experts;
  info_.top_k = options_.top_k;
  info_.model = "synthetic";
  info_.source = DescribeSynthOptions(options_);
  info_.predictions_ahead = options_.recall_2_ahead > 0 ? 2 : options_.recall_1_ahead > 0 ? 1 : 0;
  PlanRequests();
  layers_.reserve(options_.layers);
  for (uint32_t layer = 0; layer < options_.layers; ++layer) layers_.emplace_back(&options_, layer);
  const size_t entries = size_t{options_.layers} * options_.top_k;
  experts_.resize(entries);
  // The first layers have no layers before them whose routers could say anything.
  if (info_.predictions_ahead >= 1) predicted_1_ahead_.resize(entries, kNoExpert);
  if (info_.predictions_ahead >= 2) predicted_2_ahead_.resize(entries, kNoExpert);
}

void SynthTrace::PlanRequests() {
  uint64_t request = 0;
  std::vector<uint32_t> pass_rows;
  for (const uint32_t passes : synth::RequestPasses(options_)) {
    for (uint32_t row = 0; row < options_.prompt_rows; row += options_.prompt_pass_rows) {
      pass_rows.push_back(std::min(options_.prompt_pass_rows, options_.prompt_rows - row));
    }
    pass_rows.insert(pass_rows.end(), passes, options_.pass_rows);
    info_.request_rows.push_back(options_.prompt_rows + passes * options_.pass_rows);
    info_.rows += info_.request_rows.back();
    if (options_.streams > 1) {
      info_.streams.push_back(static_cast<uint32_t>(request % options_.streams));
    }
    ++request;
  }
  // A trace of one-row passes leaves the choice of a window to its reader.
  const bool all_single =
      std::all_of(pass_rows.begin(), pass_rows.end(), [](uint32_t rows) { return rows == 1; });
  if (!all_single) info_.pass_rows = std::move(pass_rows);
}

void SynthTrace::BeginRequest() {
  synth::CounterRandom random(options_.seed, synth::Purpose::kSigmas, request_);
  const double factor =
      options_.sigma_least + (options_.sigma_most - options_.sigma_least) * random.Uniform();
  for (synth::LayerRouter& layer : layers_) layer.BeginRequest(request_, options_.sigma * factor);
  rows_left_ = info_.request_rows[request_++];
}

TraceRow SynthTrace::Next() {
  while (rows_left_ == 0) {
    BERTH_CHECK_MSG(request_ < info_.request_rows.size(), "more rows taken than the trace has");
    BeginRequest();
  }
  --rows_left_;
  for (uint32_t at = 0; at < options_.layers; ++at) {
    synth::LayerRouter& layer = layers_[at];
    const size_t first = size_t{at} * options_.top_k;
    const std::span<int32_t> experts = std::span(experts_).subspan(first, options_.top_k);
    layer.Route(experts);
    if (info_.predictions_ahead >= 1 && at >= 1) {
      layer.Predict(1, options_.recall_1_ahead, experts,
                    std::span(predicted_1_ahead_).subspan(first, options_.top_k));
    }
    if (info_.predictions_ahead >= 2 && at >= 2) {
      layer.Predict(2, options_.recall_2_ahead, experts,
                    std::span(predicted_2_ahead_).subspan(first, options_.top_k));
    }
  }
  return {experts_, {}, predicted_1_ahead_, predicted_2_ahead_};
}

Result<std::unique_ptr<TraceFile>> MakeSynthTrace(const SynthOptions& options, uint64_t max_bytes) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<SynthTrace> synth, SynthTrace::Create(options));
  TraceData data;
  data.info = synth->info();
  const uint64_t columns = 1 + data.info.predictions_ahead;
  const uint64_t entries = data.info.rows * data.info.layers * data.info.top_k;
  if (entries > max_bytes / sizeof(int16_t) / columns) {
    return ResourceExhaustedError(
        "the trace takes " + FormatBytes(entries * columns * sizeof(int16_t)) + " of memory, " +
        FormatBytes(max_bytes) + " are allowed: take fewer passes or write it to a file");
  }
  data.experts.reserve(entries);
  if (columns >= 2) data.predicted_1_ahead.reserve(entries);
  if (columns >= 3) data.predicted_2_ahead.reserve(entries);
  const auto append = [](std::span<const int32_t> ids, std::vector<int16_t>* to) {
    for (const int32_t id : ids) to->push_back(static_cast<int16_t>(id));
  };
  for (uint64_t row = 0; row < data.info.rows; ++row) {
    const TraceRow made = synth->Next();
    append(made.experts, &data.experts);
    append(made.predicted_1_ahead, &data.predicted_1_ahead);
    append(made.predicted_2_ahead, &data.predicted_2_ahead);
  }
  return MakeMemoryTrace(std::move(data));
}

}  // namespace berth
