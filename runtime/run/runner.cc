#include "runtime/run/runner.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "runtime/base/hash.h"
#include "runtime/run/balance.h"
#include "runtime/run/inputs.h"
#include "runtime/run/process_memory.h"
#include "runtime/run/replay.h"
#include "runtime/run/warm_start.h"

namespace berth {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string List(std::span<const uint32_t> values) {
  std::string text;
  for (size_t i = 0; i < values.size() && i < 6; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  }
  return text + (values.size() > 6 ? ", ..." : "");
}

// Plays steps on a session: makes their inputs, waits for them and hashes what they put out.
class RunTarget final : public ReplayTarget {
 public:
  RunTarget(const RuntimeOptions& options, const TraceInfo& trace, Session* session,
            RunReport* report)
      : options_(options), session_(session), report_(report), hidden_(report->shape.hidden) {
    const size_t max_rows = options.max_rows;
    // Hashes of different arithmetics are not to be compared.
    const std::string& arithmetic = report->info.arithmetic;
    hash_.Update(arithmetic.data(), arithmetic.size());
    if (!trace.has_router_weights) {
      weights_.assign(max_rows * trace.top_k, 1.0f / static_cast<float>(trace.top_k));
    }
    if (!options.compute) return;
    x_.resize(max_rows * hidden_);
    y_.resize(x_.size());
  }

  Status Step(const ReplayStep& replayed) override {
    if (replayed.layer == 0) report_->tokens += replayed.rows.size();
    for (size_t r = 0; options_.compute && r < replayed.rows.size(); ++r) {
      FillInput(options_.seed, replayed.rows[r], replayed.layer, hidden_, &x_[r * hidden_]);
    }
    berth::Step step;
    step.layer = replayed.layer;
    step.rows = static_cast<uint32_t>(replayed.rows.size());
    step.x = x_.data();
    step.ids = replayed.ids.data();
    step.weights = weights_.empty() ? replayed.weights.data() : weights_.data();
    step.y = y_.data();
    step.pass = replayed.pass;
    // From the end of the last step to here: reading the trace, making inputs, hashing outputs.
    report_->inputs_s += Since(last_end_);
    BERTH_ASSIGN_OR_RETURN(ticket_, session_->Enqueue(step));
    return Status();
  }

  Status Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) override {
    return session_->Hint(layer, experts, pass);
  }

  Status EndStep(const ReplayStep& replayed) override {
    const Status done = session_->Wait(ticket_);
    last_end_ = Clock::now();
    if (!done.ok()) {
      ++report_->failed_steps;
      if (report_->first_failure.ok()) report_->first_failure = done;
    } else if (options_.compute) {
      hash_.Update(y_.data(), replayed.rows.size() * hidden_ * sizeof(float));
    }
    return Status();
  }

  // After the last step.
  void Finish() {
    report_->inputs_s += Since(last_end_);
    if (options_.compute && report_->failed_steps == 0) report_->output_hash = hash_.Digest();
  }
  uint64_t bytes() const {
    return (x_.capacity() + y_.capacity() + weights_.capacity()) * sizeof(float);
  }

 private:
  const RuntimeOptions& options_;
  Session* const session_;
  RunReport* const report_;
  const uint32_t hidden_;
  Ticket ticket_;
  Clock::time_point last_end_ = Clock::now();
  StreamHash64 hash_;
  std::vector<float> weights_;  // where the trace has none
  std::vector<float> x_, y_;
};

TimeSplit Minus(const TimeSplit& a, const TimeSplit& b) {
  return {a.device_s - b.device_s, a.link_s - b.link_s, a.storage_s - b.storage_s,
          a.other_s - b.other_s, a.idle_s - b.idle_s};
}

}  // namespace

Status CheckTraceMatches(const TraceInfo& trace, const ModelShape& shape, const std::string& path) {
  const auto differ = [&](const char* what, uint64_t in_trace, uint64_t in_model) {
    return InvalidArgumentError(path + ": the trace has " + std::to_string(in_trace) + " " + what +
                                ", the model has " + std::to_string(in_model) +
                                ": they do not belong together");
  };
  if (trace.layers != shape.layers) return differ("MoE layers", trace.layers, shape.layers);
  if (trace.experts != shape.experts) return differ("experts", trace.experts, shape.experts);
  if (trace.top_k != shape.top_k) return differ("experts a token", trace.top_k, shape.top_k);
  if (!trace.layer_ids.empty() && trace.layer_ids != shape.blocks) {
    return InvalidArgumentError(path + ": the trace's layers are blocks " + List(trace.layer_ids) +
                                ", the model's MoE layers are blocks " + List(shape.blocks));
  }
  return Status();
}

std::string BoundBy(const TimeSplit& time) {
  const std::pair<double, const char*> parts[] = {{time.device_s, "device"},
                                                  {time.link_s, "link"},
                                                  {time.storage_s, "storage"},
                                                  {time.other_s + time.idle_s, "host"}};
  return std::max_element(std::begin(parts), std::end(parts))->second;
}

Result<RunReport> RunTrace(const RunOptions& options) {
  RunReport report;
  Clock::time_point start = Clock::now();
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(options.trace));
  BERTH_ASSIGN_OR_RETURN(PassSource source, PassSource::Create(trace->info(), options.passes));
  RuntimeOptions runtime_options = options.runtime;
  runtime_options.max_rows = std::max<uint32_t>(1, source.max_rows());
  runtime_options.max_sessions = 1;
  runtime_options.max_in_flight = 1;
  ResetPeakResidentBytes();
  BERTH_ASSIGN_OR_RETURN(report.shape, Runtime::Inspect(runtime_options));
  BERTH_RETURN_IF_ERROR(CheckTraceMatches(trace->info(), report.shape, options.trace));
  if (!options.warm.empty()) {
    BERTH_RETURN_IF_ERROR(
        ReadWarmStart(options.warm, report.shape.layers, report.shape.experts, &runtime_options));
  }
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> opened, options.open(runtime_options));
  Runtime& runtime = *opened;
  report.info = runtime.info();
  report.policy = options.runtime.policy;
  report.prefetch = options.prefetch;
  report.verified = report.info.checksums;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, runtime.NewSession());
  report.open_s = Since(start);

  ReplayOptions replay;
  replay.prefetch = options.prefetch;
  replay.layer_unit_bytes = report.shape.unit_bytes;
  replay.progress = options.progress;
  const Stats before = runtime.stats();
  start = Clock::now();
  RunTarget target(runtime_options, trace->info(), session.get(), &report);
  BERTH_RETURN_IF_ERROR(Replay(trace.get(), &source, replay, &target));
  target.Finish();
  report.wall_s = Since(start);
  const TimeSplit end = runtime.stats().time;
  runtime.WaitIdle();  // wrong guesses may still move; what they move is counted
  report.stats = runtime.stats();
  report.stats.time = Minus(end, before.time);
  // Hinted units may move meanwhile; that time is counted as theirs.
  report.inputs_s = std::min(report.inputs_s, report.stats.time.idle_s);
  report.bound_by = BoundBy(report.stats.time);
  BERTH_RETURN_IF_ERROR(CheckReportBalance(
      report.stats, report.failed_steps + report.stats.counters.failed_reads == 0));
  if (!options.save_learned.empty()) runtime.Learned(&report.learned);
  report.trace_window_bytes = trace->window_bytes();
  report.input_bytes =
      target.bytes() + ReplayBytes(trace->info(), runtime_options.max_rows, options.prefetch);
  report.rss_bytes = PeakResidentBytes();
  report.rss_bound_bytes =
      report.info.memory.total() + report.trace_window_bytes + report.input_bytes + (64u << 20);
  return report;
}

}  // namespace berth
