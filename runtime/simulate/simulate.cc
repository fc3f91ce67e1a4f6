#include "runtime/simulate/simulate.h"

#include <algorithm>
#include <memory>
#include <string>

#include "policies/policy.h"
#include "runtime/base/format.h"
#include "runtime/base/quota.h"
#include "runtime/count/future.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/sizes_of.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/run/balance.h"
#include "runtime/run/replay.h"
#include "runtime/run/warm_start.h"
#include "runtime/simulate/virtual_machine.h"
#include "runtime/simulate/workload.h"

namespace berth {
namespace {

class CoreTarget final : public ReplayTarget {
 public:
  // `future`: nullptr where no policy asks.
  CoreTarget(VirtualMachine* machine, const HostCosts& host, Future* future, RunReport* report)
      : machine_(machine), host_(host), future_(future), report_(report) {}

  Status Step(const ReplayStep& step) override {
    if (step.layer == 0) report_->tokens += step.rows.size();
    if (future_ != nullptr) BERTH_RETURN_IF_ERROR(future_->BeginStep(step.layer, step.ids));
    // What the model does besides its experts comes between them, a share before every layer.
    const Nanos rest = host_.pass + step.rows.size() * host_.pass_row;
    const uint32_t layers = report_->shape.layers;
    machine_->Rest(EqualQuota<uint64_t>(rest, layers, step.layer));
    return machine_->Step(step.layer, static_cast<uint32_t>(step.rows.size()), step.ids, step.pass);
  }
  Status Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) override {
    return machine_->Hint(layer, experts, pass);
  }
  Status EndStep(const ReplayStep&) override {
    BERTH_RETURN_IF_ERROR(machine_->EndStep());
    return CheckTime(machine_->now());
  }

 private:
  VirtualMachine* const machine_;
  const HostCosts& host_;
  Future* const future_;
  RunReport* const report_;
};

bool NeedsFuture(const std::string& policy) {
  const policies::PolicyInfo* const info = policies::FindPolicy(policy);
  return info != nullptr && info->needs_future;
}

// nullptr where no policy asks for it.
Result<std::unique_ptr<Future>> FutureFor(const scheduler::CoreOptions& core,
                                          const PassOptions& passes, TraceFile* trace) {
  const bool host = !core.host_class_slots.empty() && NeedsFuture(core.host_policy);
  // What an inclusive tier has may be on a card, too, and is then not asked for when it is used.
  if (host && !core.host_exclusive) {
    return InvalidArgumentError(
        "--host-policy " + core.host_policy +
        ": an inclusive host tier is not asked for what cards have, so next uses do not tell it "
        "what leaves last: give --host-tier-mode exclusive, or another policy");
  }
  if (!host && !NeedsFuture(core.policy)) return std::unique_ptr<Future>();
  return Future::Find(trace, passes);
}

Result<MemoryPlan> PlanOn(const MachineProfile& profile, const RuntimeOptions& runtime,
                          const ModelSizes& sizes) {
  PlanInputs inputs;
  inputs.options = &runtime;
  inputs.profile = &profile;
  inputs.model = &sizes;
  inputs.available_bytes = profile.host.memory_bytes > 0 ? profile.host.memory_bytes : kNoLimit;
  for (const CardConfig& card : runtime.cards) {
    const uint64_t memory = CardMemory(profile, card);
    if (memory == 0 && card.arena_bytes == 0) {
      return InvalidArgumentError("card " + card.device +
                                  ": neither --arena nor the profile says how much memory it has: "
                                  "give --arena, --memory or a --profile with 'memory_bytes'");
    }
    // What an arena that was asked for is held against is --memory: a larger card may be played.
    const bool limited = card.memory_bytes > 0 || card.arena_bytes == 0;
    inputs.card_free_bytes.push_back(limited ? memory : kNoLimit);
  }
  BERTH_ASSIGN_OR_RETURN(MemoryPlan plan, PlanMemory(inputs));
  for (size_t c = 0; c < plan.arenas.size(); ++c) {
    const std::string& device = runtime.cards[c].device;
    const uint64_t memory = CardMemory(profile, runtime.cards[c]);
    const uint64_t taken = plan.arenas[c].bytes() + plan.card_extra_bytes[c];
    if (memory == 0 || taken <= memory) continue;
    plan.notes.push_back("card " + device + ": " + FormatBytes(taken) + " are more than the " +
                         FormatBytes(memory) + " that the profile's has: a run would refuse them");
  }
  const auto open = [](const CardConfig& card) {
    return card.arena_bytes == 0 && !IsHostDevice(card.device);
  };
  if (sizes.hidden == 0 && std::any_of(runtime.cards.begin(), runtime.cards.end(), open)) {
    plan.notes.push_back(
        "what cards keep for computing is not counted: give MODEL, which says its shapes");
  }
  return plan;
}

void FillInfo(const RuntimeOptions& runtime, const MemoryPlan& plan, const MachineCosts& costs,
              RuntimeInfo* info) {
  *info = PlannedInfo(runtime, plan);
  info->memory.host_tier_bytes = plan.host_tier_bytes;
  info->memory.staging_bytes = plan.staging_bytes;
  info->memory.workspace_bytes = plan.workspace_bytes;
  for (const uint64_t bytes : plan.card_extra_bytes) info->memory.workspace_bytes += bytes;
  info->memory.books_bytes = plan.books_bytes;
  for (const std::string& note : costs.notes) info->notes.push_back(note);
  info->io_rung = "simulated";
}

// The naive engine knows one rule and learns nothing.
Status CheckNaive(const RunOptions& run) {
  const std::string& policy = run.runtime.policy;
  if (policy != "lru" && policy != RuntimeOptions().policy) {
    return InvalidArgumentError("--chunk 0 with --policy " + policy +
                                ": the engine it plays is LRU; leave --policy out");
  }
  if (run.runtime.miss != MissChoice::kStage) {
    return InvalidArgumentError(
        "--chunk 0 with --miss host, auto or in-place: the engine it plays stages every miss");
  }
  if (!run.warm.empty() || !run.save_learned.empty()) {
    return InvalidArgumentError(
        "--chunk 0 with --warm or --save-learned: the engine it plays knows neither");
  }
  return Status();
}

Status SimulateCore(const SimulateOptions& options, MemoryPlan plan, const MachineCosts& costs,
                    const SimulatedModel& model, bool preload, TraceFile* trace, PassSource* source,
                    RunReport* report) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Future> future,
                         FutureFor(plan.core, options.run.passes, trace));
  if (future != nullptr) plan.core.next_use = future->next_use();
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<VirtualMachine> machine,
                         VirtualMachine::Create(costs, std::move(plan.core)));
  report->info.memory.books_bytes += machine->core().resident_bytes();
  report->info.chunk = machine->core().chunk();
  for (const std::string& note : machine->core().notes()) report->info.notes.push_back(note);

  ReplayOptions replay;
  replay.prefetch = options.run.prefetch;
  replay.layer_unit_bytes = model.shape.unit_bytes;
  replay.progress = options.run.progress;
  if (preload) BERTH_RETURN_IF_ERROR(machine->Preload());
  report->open_s = static_cast<double>(machine->clock().elapsed()) * 1e-9;
  machine->RestartClock();
  CoreTarget target(machine.get(), costs.host, future.get(), report);
  BERTH_RETURN_IF_ERROR(Replay(trace, source, replay, &target));
  report->wall_s = static_cast<double>(machine->clock().elapsed()) * 1e-9;
  report->stats.time = machine->clock().Split();
  report->host_s = static_cast<double>(machine->clock().spent(VirtualClock::kHost)) * 1e-9;
  BERTH_RETURN_IF_ERROR(machine->Drain());
  report->stats.counters = machine->core().counters();
  if (!options.run.save_learned.empty()) machine->core().Learned(&report->learned);
  report->stats.moved = machine->moved();
  return CheckReportBalance(report->stats, /*all_done=*/true);
}

// What is stated beside a trace is a check of it, no other geometry.
Status CheckStated(const StatedModel& stated, const TraceInfo& trace, const std::string& path) {
  const auto check = [&](const char* flag, const char* what, uint32_t said, uint32_t in_trace) {
    if (said == 0 || said == in_trace) return Status();
    return InvalidArgumentError(path + ": the trace has " + std::to_string(in_trace) + " " + what +
                                ", " + flag + " says " + std::to_string(said) + ": leave " + flag +
                                " out, or give the trace that belongs to it");
  };
  BERTH_RETURN_IF_ERROR(check("--layers", "MoE layers", stated.layers, trace.layers));
  BERTH_RETURN_IF_ERROR(check("--experts", "experts a layer", stated.experts, trace.experts));
  BERTH_RETURN_IF_ERROR(check("--top-k", "experts a row", stated.top_k, trace.top_k));
  if (stated.unit_bytes.size() > 1 && stated.unit_bytes.size() != trace.layers) {
    return InvalidArgumentError("--unit-bytes: " + std::to_string(stated.unit_bytes.size()) +
                                " values, but " + path + " has " + std::to_string(trace.layers) +
                                " MoE layers: give one, or one for each layer");
  }
  return Status();
}

}  // namespace

Result<SimulatedModel> SimulatedModelOf(const SimulateOptions& options, const TraceInfo& trace) {
  SimulatedModel model;
  if (!options.run.runtime.model.empty()) {
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Catalog> catalog,
                           Engine::ReadModel(options.run.runtime));
    model.shape = Engine::ShapeOf(*catalog);
    model.sizes = SizesOf(*catalog);
    BERTH_RETURN_IF_ERROR(CheckTraceMatches(trace, model.shape, options.run.trace));
    return model;
  }
  const StatedModel& stated = options.stated;
  BERTH_RETURN_IF_ERROR(CheckStated(stated, trace, options.run.trace));
  ModelShape& shape = model.shape;
  shape.layers = stated.layers > 0 ? stated.layers : trace.layers;
  shape.experts = stated.experts > 0 ? stated.experts : trace.experts;
  shape.top_k = stated.top_k > 0 ? stated.top_k : trace.top_k;
  shape.unit_bytes = stated.unit_bytes.empty() ? trace.layer_unit_bytes : stated.unit_bytes;
  if (shape.unit_bytes.empty()) {
    return InvalidArgumentError(
        "how large a unit is says neither a model nor the trace: give "
        "MODEL or --unit-bytes");
  }
  BERTH_ASSIGN_OR_RETURN(model.sizes,
                         StatedSizes(shape.layers, shape.experts, shape.top_k, shape.unit_bytes));
  shape.unit_bytes.assign(model.sizes.geometry.layer_payload_bytes.begin(),
                          model.sizes.geometry.layer_payload_bytes.end());
  for (uint32_t l = 0; l < shape.layers; ++l) {
    shape.blocks.push_back(l < trace.layer_ids.size() ? trace.layer_ids[l] : l);
  }
  BERTH_RETURN_IF_ERROR(CheckTraceMatches(trace, shape, options.run.trace));
  return model;
}

Result<RunReport> Simulate(const SimulateOptions& options, TraceFile* trace) {
  std::unique_ptr<TraceFile> opened;
  if (trace == nullptr) {
    BERTH_ASSIGN_OR_RETURN(opened, TraceFile::Open(options.run.trace));
    trace = opened.get();
  }
  BERTH_ASSIGN_OR_RETURN(PassSource source, PassSource::Create(trace->info(), options.run.passes));
  RuntimeOptions runtime = options.run.runtime;
  runtime.max_rows = std::max<uint32_t>(1, source.max_rows());
  runtime.max_sessions = 1;
  runtime.max_in_flight = 1;
  const bool naive = runtime.chunk == 0;
  if (naive) {
    BERTH_RETURN_IF_ERROR(CheckNaive(options.run));
    runtime.chunk = 1;
  }
  BERTH_RETURN_IF_ERROR(CheckRuntimeOptions(runtime));
  BERTH_ASSIGN_OR_RETURN(const SimulatedModel model, SimulatedModelOf(options, trace->info()));
  if (!options.run.warm.empty()) {
    BERTH_RETURN_IF_ERROR(
        ReadWarmStart(options.run.warm, model.shape.layers, model.shape.experts, &runtime));
  }
  BERTH_ASSIGN_OR_RETURN(MemoryPlan plan, PlanOn(options.profile, runtime, model.sizes));
  MachineCosts costs = MakeCosts(options.profile, runtime.cards);
  costs.in_place = runtime.miss == MissChoice::kInPlace;
  RunReport report;
  report.shape = model.shape;
  report.simulated = true;
  report.policy = naive ? "lru" : runtime.policy;
  report.miss = runtime.miss;
  report.prefetch = options.run.prefetch;
  FillInfo(runtime, plan, costs, &report.info);
  BERTH_RETURN_IF_ERROR(naive ? SimulateNaive(options, plan, costs, model, trace, &source, &report)
                              : SimulateCore(options, std::move(plan), costs, model,
                                             runtime.preload, trace, &source, &report));
  if (!options.profile.notes.empty()) {
    report.info.notes.push_back("profile " + options.profile.name + ": " + options.profile.notes);
  }
  report.info.machine = options.profile.name.empty() ? "assumed" : options.profile.name;
  // What the model does besides its experts is a constant of the profile: it bounds what Berth can
  // bring, but it is not what Berth waits for.
  report.inputs_s = report.stats.time.idle_s;
  TimeSplit time = report.stats.time;
  time.idle_s = 0;
  report.bound_by = BoundBy(time);
  report.trace_window_bytes = trace->window_bytes();
  report.input_bytes = ReplayBytes(trace->info(), runtime.max_rows, options.run.prefetch);
  return report;
}

}  // namespace berth
