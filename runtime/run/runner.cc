#include "runtime/run/runner.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "runtime/base/hash.h"
#include "runtime/run/balance.h"
#include "runtime/run/inputs.h"
#include "runtime/run/process_memory.h"

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

// A trace belongs to a model when every id in it means something there.
Status CheckMatch(const TraceInfo& trace, const ModelShape& shape, const std::string& path) {
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

// The buffers of one step, and how they are filled from the trace.
class StepBuffers {
 public:
  StepBuffers(const ModelShape& shape, uint32_t max_rows, uint64_t seed, bool compute)
      : shape_(shape), seed_(seed), compute_(compute) {
    ids_.resize(static_cast<size_t>(shape.layers) * max_rows * shape.top_k);
    weights_.assign(ids_.size(), 1.0f / static_cast<float>(shape.top_k));
    if (!compute) return;
    x_.resize(static_cast<size_t>(max_rows) * shape.hidden);
    y_.resize(x_.size());
  }

  // Routing of all layers of a pass: [layers][rows][top_k].
  Status LoadPass(TraceFile* trace, std::span<const uint64_t> rows) {
    const size_t k = shape_.top_k;
    for (size_t r = 0; r < rows.size(); ++r) {
      BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> ids, trace->Experts(rows[r]));
      for (size_t l = 0; l < shape_.layers; ++l) {
        std::copy_n(&ids[l * k], k, &ids_[(l * rows.size() + r) * k]);
      }
      if (!trace->info().has_router_weights) continue;
      BERTH_ASSIGN_OR_RETURN(const std::span<const float> weights, trace->Weights(rows[r]));
      for (size_t l = 0; l < shape_.layers; ++l) {
        std::copy_n(&weights[l * k], k, &weights_[(l * rows.size() + r) * k]);
      }
    }
    return Status();
  }

  Step Prepare(uint32_t layer, std::span<const uint64_t> rows, uint64_t pass) {
    const size_t at = static_cast<size_t>(layer) * rows.size() * shape_.top_k;
    for (size_t r = 0; compute_ && r < rows.size(); ++r) {
      FillInput(seed_, rows[r], layer, shape_.hidden, &x_[r * shape_.hidden]);
    }
    Step step;
    step.layer = layer;
    step.rows = static_cast<uint32_t>(rows.size());
    step.x = x_.data();
    step.ids = &ids_[at];
    step.weights = &weights_[at];
    step.y = y_.data();
    step.pass = pass;
    return step;
  }

  void Hash(size_t rows, StreamHash64* hash) const {
    if (compute_) hash->Update(y_.data(), rows * shape_.hidden * sizeof(float));
  }
  uint64_t bytes() const {
    return (x_.size() + y_.size() + weights_.size()) * sizeof(float) +
           ids_.size() * sizeof(int32_t);
  }

 private:
  const ModelShape& shape_;
  const uint64_t seed_;
  const bool compute_;
  std::vector<int32_t> ids_;
  std::vector<float> weights_;
  std::vector<float> x_, y_;
};

std::string BoundBy(const TimeSplit& time) {
  const std::pair<double, const char*> parts[] = {{time.device_s, "device"},
                                                  {time.link_s, "link"},
                                                  {time.storage_s, "storage"},
                                                  {time.other_s + time.idle_s, "host"}};
  return std::max_element(std::begin(parts), std::end(parts))->second;
}

TimeSplit Minus(const TimeSplit& a, const TimeSplit& b) {
  return {a.device_s - b.device_s, a.link_s - b.link_s, a.storage_s - b.storage_s,
          a.other_s - b.other_s, a.idle_s - b.idle_s};
}

Status Replay(const RunOptions& options, PassSource* source, TraceFile* trace, Runtime* runtime,
              StepBuffers* buffers, RunReport* report) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, runtime->NewSession());
  StreamHash64 hash;
  hash.Update(&kArithmeticVersion, sizeof(kArithmeticVersion));
  uint64_t pass = 0;
  for (std::span<const uint64_t> rows; !(rows = source->Next()).empty(); ++pass) {
    report->tokens += rows.size();
    Clock::time_point mark = Clock::now();
    BERTH_RETURN_IF_ERROR(buffers->LoadPass(trace, rows));
    report->inputs_s += Since(mark);
    for (uint32_t layer = 0; layer < report->shape.layers; ++layer) {
      mark = Clock::now();
      const Step step = buffers->Prepare(layer, rows, pass);
      report->inputs_s += Since(mark);
      BERTH_ASSIGN_OR_RETURN(const Ticket ticket, session->Enqueue(step));
      const Status done = session->Wait(ticket);
      if (!done.ok()) {
        ++report->failed_steps;
        if (report->first_failure.ok()) report->first_failure = done;
        continue;
      }
      mark = Clock::now();
      buffers->Hash(rows.size(), &hash);
      report->inputs_s += Since(mark);
    }
    if (options.progress) options.progress(pass + 1, source->passes());
  }
  if (options.runtime.compute && report->failed_steps == 0) report->output_hash = hash.Digest();
  return Status();
}

}  // namespace

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
  BERTH_RETURN_IF_ERROR(CheckMatch(trace->info(), report.shape, options.trace));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> opened, options.open(runtime_options));
  Runtime& runtime = *opened;
  report.info = runtime.info();
  report.verified = report.info.checksums;
  StepBuffers buffers(report.shape, runtime_options.max_rows, runtime_options.seed,
                      runtime_options.compute);
  report.open_s = Since(start);

  const Stats before = runtime.stats();
  start = Clock::now();
  BERTH_RETURN_IF_ERROR(Replay(options, &source, trace.get(), &runtime, &buffers, &report));
  report.wall_s = Since(start);
  report.stats = runtime.stats();
  report.stats.time = Minus(report.stats.time, before.time);
  report.bound_by = BoundBy(report.stats.time);
  BERTH_RETURN_IF_ERROR(CheckReportBalance(report.stats, report.failed_steps == 0));
  report.trace_window_bytes = trace->window_bytes();
  report.input_bytes = buffers.bytes();
  report.rss_bytes = PeakResidentBytes();
  report.rss_bound_bytes =
      report.info.memory.total() + report.trace_window_bytes + report.input_bytes + (64u << 20);
  return report;
}

}  // namespace berth
