// What the core itself costs: decode-like steps, 10 of 512 experts in 48 layers, half of the units
// resident. Every action is answered at once. "per_unit" is what counts: below one microsecond the
// core is lost in the microseconds that the smallest copy takes.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "scheduler/core.h"

namespace berth::scheduler {
namespace {

constexpr uint32_t kLayers = 48;
constexpr uint32_t kExperts = 512;
constexpr uint32_t kTopK = 10;
constexpr uint32_t kPasses = 64;  // of the script, which repeats

class AnswerAtOnce final : public Sink {
 public:
  AnswerAtOnce() { pending_.reserve(1 << 12); }
  void Read(const ReadAction& a) override { pending_.push_back({0, a.extent, a.op}); }
  void Copy(const CopyAction& a) override { pending_.push_back({1, 0, a.op}); }
  void Publish(const PublishAction& a) override { pending_.push_back({2, 0, a.op}); }
  void Compute(const ComputeAction& a) override { pending_.push_back({3, 0, a.op}); }
  void TicketDone(TicketId, uint64_t, const Status&) override {}
  void LeaseReady(LeaseId, uint64_t, const Status&) override {}
  void Drain(Core* core) {
    for (size_t i = 0; i < pending_.size(); ++i) {
      const Pending p = pending_[i];
      if (p.what == 0) core->ReadDone(p.op, p.extent, Status());
      if (p.what == 1) core->CopyDone(p.op, Status());
      if (p.what == 2) core->PublishDone(p.op, Status());
      if (p.what == 3) core->ComputeDone(p.op, Status());
    }
    pending_.clear();
  }

 private:
  struct Pending {
    uint32_t what, extent;
    OpId op;
  };
  std::vector<Pending> pending_;
};

CoreOptions Machine(const char* policy, bool host_tier) {
  CoreOptions o;
  Geometry& g = o.geometry;
  g.layers = kLayers;
  g.experts = kExperts;
  g.top_k = kTopK;
  g.layer_class.assign(kLayers, 0);
  g.layer_payload_bytes.assign(kLayers, 2329600);
  g.layer_extents.assign(kLayers, 3);
  g.max_extents = 3;
  g.extent_read_bytes.assign(static_cast<size_t>(g.units()) * 3, 780288);
  o.cards.push_back({{g.units() / 2}, 16});
  o.policy = policy;
  o.sharing = CoreOptions::Sharing::kShared;
  o.read_bytes_in_flight = o.copy_bytes_in_flight = 64u << 20;
  if (host_tier) o.host_class_slots = {g.units()};
  return o;
}

// `pool`: of the experts of each layer, this many are ever routed to. Half the units have slots:
// 200 are hits once warm, 320 in a cycle are misses to a recency order.
std::vector<int32_t> Script(uint32_t pool, bool cycle) {
  std::mt19937_64 rng(1);
  std::vector<int32_t> ids;
  uint32_t next = 0;
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      const uint32_t first = cycle ? next : static_cast<uint32_t>(rng() % pool);
      for (uint32_t k = 0; k < kTopK; ++k) ids.push_back((first + k * (cycle ? 1 : 17)) % pool);
    }
    next = (next + kTopK) % pool;
  }
  return ids;
}

void RunSteps(benchmark::State& state, const char* policy, uint32_t pool, bool cycle,
              bool host_tier) {
  AnswerAtOnce sink;
  auto made = Core::Create(Machine(policy, host_tier), &sink);
  if (!made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().ToString().c_str());
    std::abort();
  }
  Core& core = **made;
  const std::vector<int32_t> script = Script(pool, cycle);
  uint64_t step = 0;
  const auto one = [&] {
    StepSpec spec;
    spec.layer = static_cast<uint32_t>(step % kLayers);
    spec.rows = 1;
    spec.ids = std::span(script).subspan(step * kTopK % script.size(), kTopK);
    spec.pass = step / kLayers;
    ++step;
    benchmark::DoNotOptimize(core.SubmitStep(spec).ok());
    sink.Drain(&core);
  };
  for (uint32_t i = 0; i < 2 * kPasses * kLayers; ++i) one();
  const Counters before = core.counters();
  for (auto _ : state) one();
  const Counters& after = core.counters();
  const double units = static_cast<double>(after.distinct_units - before.distinct_units);
  state.counters["per_unit"] =
      benchmark::Counter(units, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["hit_rate"] =
      static_cast<double>(after.cards[0].hits - before.cards[0].hits) / units;
}

BENCHMARK_CAPTURE(RunSteps, hits_lru, "lru", 200, false, false);
BENCHMARK_CAPTURE(RunSteps, misses_lru, "lru", 320, true, false);
BENCHMARK_CAPTURE(RunSteps, misses_lru_host_tier, "lru", 320, true, true);
BENCHMARK_CAPTURE(RunSteps, mixed_lru, "lru", 512, false, false);
BENCHMARK_CAPTURE(RunSteps, mixed_lfu, "lfu", 512, false, false);
BENCHMARK_CAPTURE(RunSteps, mixed_heat, "heat", 512, false, false);

}  // namespace
}  // namespace berth::scheduler

BENCHMARK_MAIN();
