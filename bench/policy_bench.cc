// What a decision costs, for every registered policy.
//   step: steps of ten units with all that the scheduler asks of a policy for them; s_per_touch is
//         the time by touched units, their misses included.
//   miss: a victim, its Erased and another unit's Inserted, alone; ten to a step.
//
//   policy_bench --benchmark_filter=lfu
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "policies/policy.h"

namespace berth::policies {
namespace {

constexpr uint32_t kStepUnits = 10;

struct Shape {
  const char* name;
  uint32_t layers;
  uint32_t experts;
  uint32_t slots;
};
// The pools of two published runs of a cache simulator, and a whole large model half resident.
constexpr Shape kShapes[] = {
    {"333_slots_of_1664", 26, 64, 333},
    {"832_slots_of_1664", 26, 64, 832},
    {"12288_slots_of_24576", 48, 512, 12288},
};

// With a profile where there is no policy without one: every layer's low experts are the hot ones.
PolicyOptions OptionsOf(const PolicyInfo& info, const Shape& shape, std::vector<double>* heat) {
  PolicyOptions options;
  options.units = shape.layers * shape.experts;
  options.slots = shape.slots;
  options.top_k = kStepUnits;
  if (info.needs_heat) {
    for (uint32_t unit = 0; unit < options.units; ++unit) {
      heat->push_back(shape.experts - unit % shape.experts);
    }
    options.heat = *heat;
  }
  return options;
}

// Steps layer by layer and pass by pass; within a layer a few experts are routed to often.
std::vector<UnitIndex> DrawSteps(const Shape& shape, uint32_t passes) {
  std::mt19937_64 random(1);
  std::vector<UnitIndex> units;
  for (uint32_t pass = 0; pass < passes; ++pass) {
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
      const size_t begin = units.size();
      while (units.size() < begin + kStepUnits) {
        const uint64_t expert = random() % (random() % shape.experts + 1);
        const auto unit = static_cast<UnitIndex>(layer * shape.experts + expert);
        if (std::find(units.begin() + static_cast<ptrdiff_t>(begin), units.end(), unit) ==
            units.end()) {
          units.push_back(unit);
        }
      }
    }
  }
  return units;
}

class Busy final : public Evictable {
 public:
  explicit Busy(uint32_t units) : step_of_(units, 0) {}
  void Begin(const UnitIndex* units) {
    ++step_;
    for (uint32_t at = 0; at < kStepUnits; ++at) step_of_[units[at]] = step_;
  }
  bool operator()(UnitIndex unit) const override { return step_of_[unit] != step_; }

 private:
  std::vector<uint64_t> step_of_;  // the last step that each unit was in
  uint64_t step_ = 1;
};

void RunSteps(benchmark::State& state, const PolicyInfo& info, const Shape& shape) {
  std::vector<double> heat;
  const PolicyOptions options = OptionsOf(info, shape, &heat);
  auto made = MakePolicy(info.name, options);
  if (!made.ok()) return state.SkipWithError(made.status().ToString().c_str());
  Policy& policy = **made;

  const std::vector<UnitIndex> steps = DrawSteps(shape, 64);
  std::vector<uint8_t> resident(options.units, 0);
  Busy busy(options.units);
  uint32_t free = options.slots;
  uint64_t misses = 0, touches = 0;
  size_t at = 0;
  for (auto _ : state) {
    const UnitIndex* const step = &steps[at % steps.size()];
    busy.Begin(step);
    policy.BeginStep(at / kStepUnits / shape.layers);
    for (uint32_t k = 0; k < kStepUnits; ++k) policy.Touched(step[k], resident[step[k]] != 0, 1);
    for (uint32_t k = 0; k < kStepUnits; ++k) {
      if (resident[step[k]]) continue;
      ++misses;
      if (!policy.Admit(step[k])) continue;
      if (free > 0) {
        --free;
      } else {
        const UnitIndex victim = policy.NextVictim(busy);
        if (victim == kNoUnit) continue;
        policy.Erased(victim);
        resident[victim] = 0;
      }
      policy.Inserted(step[k]);
      resident[step[k]] = 1;
    }
    touches += kStepUnits;
    at += kStepUnits;
  }
  using benchmark::Counter;
  state.counters["s_per_touch"] =
      Counter(static_cast<double>(touches), Counter::kIsRate | Counter::kInvert);
  state.counters["miss_%"] = 100.0 * static_cast<double>(misses) / static_cast<double>(touches);
}

void RunMisses(benchmark::State& state, const PolicyInfo& info, const Shape& shape) {
  std::vector<double> heat;
  const PolicyOptions options = OptionsOf(info, shape, &heat);
  auto made = MakePolicy(info.name, options);
  if (!made.ok()) return state.SkipWithError(made.status().ToString().c_str());
  Policy& policy = **made;
  for (UnitIndex unit : DrawSteps(shape, 64)) {
    policy.BeginStep(0);
    policy.Touched(unit, false, 1);
  }
  policy.BeginStep(0);
  for (UnitIndex unit = 0; unit < options.slots; ++unit) policy.Inserted(unit);
  const Busy nobody(options.units);
  UnitIndex outside = options.slots;
  uint64_t misses = 0;
  for (auto _ : state) {
    if (misses++ % kStepUnits == 0) policy.BeginStep(misses / kStepUnits / shape.layers);
    const UnitIndex victim = policy.NextVictim(nobody);
    policy.Erased(victim);
    policy.Inserted(outside);
    outside = victim;
  }
}

}  // namespace
}  // namespace berth::policies

int main(int argc, char** argv) {
  using berth::policies::Policies;
  for (const berth::policies::PolicyInfo& policy : Policies()) {
    if (policy.needs_future) continue;  // bench/count_bench
    for (const auto& shape : berth::policies::kShapes) {
      const std::string name = std::string(policy.name) + "/" + shape.name;
      benchmark::RegisterBenchmark(("step/" + name).c_str(), [policy, &shape](auto& state) {
        berth::policies::RunSteps(state, policy, shape);
      });
      benchmark::RegisterBenchmark(("miss/" + name).c_str(), [policy, &shape](auto& state) {
        berth::policies::RunMisses(state, policy, shape);
      });
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
