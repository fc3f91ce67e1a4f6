#include "runtime/simulate/naive.h"

#include <algorithm>
#include <string>
#include <utility>

#include "policies/policy.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/run/replay.h"
#include "runtime/simulate/workload.h"

namespace berth {

NaiveEngine::NaiveEngine(const MachineCosts& costs, const scheduler::CoreOptions& options)
    : costs_(costs),
      options_(options),
      host_(options.geometry,
            options.host_class_slots.empty()
                ? std::vector<uint32_t>(options.geometry.size_classes, 0)
                : options.host_class_slots,
            /*per_layer=*/false),
      at_(options.geometry.experts, UINT32_MAX) {
  const bool per_layer = options.sharing == scheduler::CoreOptions::Sharing::kPerLayer;
  for (const scheduler::CardOptions& card : options.cards) {
    arenas_.emplace_back(options.geometry, card.class_slots, per_layer);
  }
  counters_.cards.resize(arenas_.size());
  drive_free_.resize(options.geometry.drives);
  link_free_.resize(arenas_.size());
  issue_free_.resize(arenas_.size());
  link_busy_.resize(arenas_.size());
  wanted_.reserve(options.geometry.experts);
}

void NaiveEngine::Step(uint32_t layer, uint32_t rows, std::span<const int32_t> ids, uint64_t pass) {
  ++counters_.steps;
  counters_.rows += rows;
  if (pass != last_pass_) ++counters_.passes;
  last_pass_ = pass;
  Group(layer, ids);
  Spend(VirtualClock::kHost, costs_.host.round_trip);
  for (Wanted& wanted : wanted_) {
    if (arenas_[wanted.card].Has(wanted.unit)) {
      arenas_[wanted.card].Touch(wanted.unit);
    } else {
      Stage(&wanted);
    }
  }
  EndBatch();
  size_t first = 0;
  for (size_t i = 0; i < wanted_.size(); ++i) {
    Wanted& wanted = wanted_[i];
    if (arenas_[wanted.card].Has(wanted.unit)) continue;
    ComputeRun(first, i);
    first = i;
    // Found missing by the call that needs it: the host is asked, and answers when it is there.
    Spend(VirtualClock::kHost, costs_.host.round_trip);
    Stage(&wanted);
    EndBatch();
  }
  ComputeRun(first, wanted_.size());
  Spend(VirtualClock::kCompute, costs_.cards[0].reduce());
  CountUses();
}

void NaiveEngine::Group(uint32_t layer, std::span<const int32_t> ids) {
  wanted_.clear();
  for (const int32_t id : ids) {
    if (id == kNoExpert) continue;
    if (at_[id] == UINT32_MAX) {
      at_[id] = static_cast<uint32_t>(wanted_.size());
      const UnitIndex unit = layer * options_.geometry.experts + static_cast<uint32_t>(id);
      wanted_.push_back({unit, options_.card_of_unit.empty() ? 0u : options_.card_of_unit[unit]});
    }
    ++wanted_[at_[id]].pairs;
  }
  for (const Wanted& wanted : wanted_) at_[wanted.unit % options_.geometry.experts] = UINT32_MAX;
}

void NaiveEngine::CountUses() {
  for (const Wanted& wanted : wanted_) {
    CardCounters& card = counters_.cards[wanted.card];
    ++counters_.distinct_units;
    ++card.requests;
    ++(wanted.staged ? card.misses : card.hits);
  }
}

void NaiveEngine::Stage(Wanted* wanted) {
  const scheduler::Geometry& g = options_.geometry;
  const UnitIndex unit = wanted->unit;
  const uint32_t c = wanted->card;
  if (wanted->staged) ++staged_again_;
  wanted->staged = true;
  Nanos ready = clock_.now();
  ++counters_.host.requests;
  if (host_.Has(unit)) {
    ++counters_.host.hits;
    host_.Touch(unit);
  } else {
    ++counters_.host.misses;
    ++counters_.storage.units_demand;
    counters_.storage.bytes_demand += g.payload_bytes(unit);
    batch_reads_ = true;
    Nanos& drive = drive_free_[g.drive_of(unit)];
    drive = std::max(drive, clock_.now());
    for (uint32_t e = 0; e < g.extents(unit); ++e) {
      drive += costs_.storage.Read(g.read_bytes(unit, e), ++batch_);
      moved_.storage += g.read_bytes(unit, e);
    }
    counters_.storage.bytes_alignment += g.read_bytes(unit) - g.payload_bytes(unit);
    ready = drive + costs_.storage.latency();
    if (host_.Insert(unit)) ++counters_.host.evicted;
  }
  const LinkCosts& link = costs_.links[c];
  issue_free_[c] = std::max(issue_free_[c], clock_.now()) + link.issue() * g.extents(unit);
  const Nanos begin = std::max({link_free_[c], ready, issue_free_[c]});
  const Nanos busy =
      link.Copy(g.payload_bytes(unit), g.extents(unit), /*to_card=*/true, /*both=*/false);
  link_free_[c] = begin + busy;
  link_busy_[c] += busy;
  batch_end_ = std::max(batch_end_, link_free_[c] + link.latency() + costs_.cards[c].update());
  CardCounters& card = counters_.cards[c];
  ++card.inserted;
  ++card.units_h2d;
  card.bytes_h2d_demand += g.payload_bytes(unit);
  moved_.h2d += g.payload_bytes(unit);
  if (arenas_[c].Insert(unit)) ++card.evicted;
}

// All wait for the batch. Of its time the busiest link has its own; what is left went to reads or
// to issuing.
void NaiveEngine::EndBatch() {
  if (batch_end_ > clock_.now()) {
    const Nanos all = batch_end_ - clock_.now();
    const Nanos link = std::min(all, *std::max_element(link_busy_.begin(), link_busy_.end()));
    Spend(VirtualClock::kCopy, link);
    Spend(batch_reads_ ? VirtualClock::kRead : VirtualClock::kHost, all - link);
  }
  std::fill(link_busy_.begin(), link_busy_.end(), 0);
  batch_ = 0;
  batch_reads_ = false;
}

void NaiveEngine::ComputeRun(size_t first, size_t end) {
  if (first == end) return;
  const uint32_t bytes = options_.geometry.payload_bytes(wanted_[first].unit);
  Nanos dispatch = 0, compute = 0;
  for (uint32_t c = 0; c < arenas_.size(); ++c) {
    uint32_t units = 0, pairs = 0;
    for (size_t i = first; i < end; ++i) {
      if (wanted_[i].card != c) continue;
      ++units;
      pairs += wanted_[i].pairs;
      dispatch += wanted_[i].staged ? costs_.host.dispatch_staged : costs_.host.dispatch_hit;
    }
    // Cards compute beside each other.
    if (units > 0) compute = std::max(compute, costs_.cards[c].Wave(units, bytes, pairs));
  }
  Spend(VirtualClock::kHost, dispatch);
  Spend(VirtualClock::kCompute, compute);
}

void NaiveEngine::Spend(VirtualClock::Kind kind, Nanos nanos) {
  clock_.Begin(kind);
  clock_.AdvanceTo(clock_.now() + nanos);
  clock_.End(kind);
}

namespace {

class NaiveTarget final : public ReplayTarget {
 public:
  NaiveTarget(NaiveEngine* engine, const HostCosts& host, RunReport* report)
      : engine_(engine), host_(host), report_(report) {}

  Status Step(const ReplayStep& step) override {
    if (step.layer == 0) {
      report_->tokens += step.rows.size();
      engine_->Rest(host_.pass + step.rows.size() * host_.pass_row);
    }
    engine_->Step(step.layer, static_cast<uint32_t>(step.rows.size()), step.ids, step.pass);
    return CheckTime(engine_->clock().now());
  }
  Status Hint(uint32_t, std::span<const int32_t>, uint64_t) override { return Status(); }
  Status EndStep(const ReplayStep&) override { return Status(); }

 private:
  NaiveEngine* const engine_;
  const HostCosts& host_;
  RunReport* const report_;
};

}  // namespace

Status SimulateNaive(const SimulateOptions& options, const MemoryPlan& plan,
                     const MachineCosts& costs, const SimulatedModel& model, TraceFile* trace,
                     PassSource* source, RunReport* report) {
  if (options.run.prefetch.step_bytes > 0) {
    return InvalidArgumentError(
        "--prefetch with --chunk 0: the naive engine fetches nothing ahead");
  }
  if (options.run.runtime.host_exclusive) {
    return InvalidArgumentError(
        "--host-tier-mode exclusive with --chunk 0: the naive engine's host tier is inclusive");
  }
  const policies::PolicyInfo* const policy = policies::FindPolicy(plan.core.policy);
  if (policy != nullptr && policy->needs_future) {
    return InvalidArgumentError("--policy " + std::string(policy->name) +
                                " with --chunk 0: the naive engine's arena is LRU, whatever the "
                                "policy");
  }
  NaiveEngine engine(costs, plan.core);
  ReplayOptions replay;
  replay.layer_unit_bytes = model.shape.unit_bytes;
  replay.progress = options.run.progress;
  NaiveTarget target(&engine, costs.host, report);
  BERTH_RETURN_IF_ERROR(Replay(trace, source, replay, &target));
  report->wall_s = static_cast<double>(engine.clock().now()) * 1e-9;
  report->stats.time = engine.clock().Split();
  report->host_s = static_cast<double>(engine.clock().spent(VirtualClock::kHost)) * 1e-9;
  report->stats.counters = engine.counters();
  report->stats.moved = engine.moved();
  report->info.chunk = 0;
  report->info.notes.push_back(
      "chunk 0: a naive engine that stages a whole step's misses at once into an LRU arena, "
      "outside "
      "the core; units staged again because the step threw them out before it used them: " +
      std::to_string(engine.staged_again()));
  return Status();
}

}  // namespace berth
