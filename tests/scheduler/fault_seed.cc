#include "tests/scheduler/fault_seed.h"

#include <memory>
#include <vector>

#include "tests/scheduler/decided.h"
#include "tests/scheduler/fake_driver.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

using Order = DriverOptions::Order;

// Of the seed at hand; kept for DescribeLastSeed.
std::unique_ptr<FakeDriver> last_driver;

struct Plan {
  CoreOptions machine;
  DriverOptions driver;
  ScriptShape script;
  bool warm = false;  // the arenas start filled from the heat
  bool hard = false;  // faults that are not cured
  uint32_t most = 0;  // answers between two submissions
  uint64_t pace = 0;
};

Plan PlanOf(uint64_t seed) {
  Random r(seed ^ 0x9a7);
  Plan plan;
  plan.machine = RandomMachine(seed);
  plan.hard = !r.OneIn(3);
  plan.script.closes = plan.hard && r.OneIn(4);
  plan.script.heals = plan.hard && r.OneIn(3);
  plan.driver.seed = seed;
  plan.driver.order = r.OneIn(4) ? static_cast<Order>(r.Below(2)) : Order::kRandom;
  plan.driver.faults = RandomFaults(seed, plan.machine.geometry.units(), plan.hard);
  plan.most = 4 * r.Below(7);
  plan.pace = r.Next();
  plan.warm = r.OneIn(2);
  return plan;
}

// Another order, other speeds, no fault.
Plan OtherWay(const Plan& plan, uint64_t seed) {
  Random r(seed ^ 0x0e4);
  Plan other = plan;
  other.driver.seed = seed + 1;
  other.driver.order = static_cast<Order>(r.Below(3));
  other.driver.faults.rates = {};
  other.most = r.OneIn(3) ? 1000 : r.Below(4);
  other.pace = r.Next();
  CoreOptions& o = other.machine;
  const uint64_t bytes = r.OneIn(2) ? 1 : 1u << 30;
  o.read_bytes_in_flight = o.prefetch_read_bytes_in_flight = bytes;
  o.copy_bytes_in_flight = o.prefetch_copy_bytes_in_flight = bytes;
  return other;
}

std::string Open(const Plan& plan) {
  last_driver = std::make_unique<FakeDriver>(plan.driver);
  const Status opened = last_driver->Open(plan.machine);
  return opened.ok() ? "" : "the machine was refused: " + opened.ToString();
}

// Plays, heals, and needs every unit once.
std::string PlayPlan(const Plan& plan, const std::vector<Action>& script) {
  FakeDriver& driver = *last_driver;
  if (plan.warm) WarmUp(&driver);
  Play(&driver, script, plan.pace, plan.most);
  if (!driver.error().empty()) return driver.error();
  driver.CheckQuiet(/*exact=*/driver.injected() == 0 && !driver.closed());
  if (!driver.closed()) {
    driver.Heal();
    PlayEveryUnit(&driver);
    driver.CheckQuiet(/*exact=*/driver.injected() == 0);
  }
  return driver.error();
}

void Add(FakeDriver& driver, SeedTotals* totals) {
  totals->closed += driver.closed() ? 1 : 0;
  totals->failed_steps += driver.failed_steps();
  for (const CardCounters& card : driver.core().counters().cards) {
    totals->host_computed += card.host_computed;
    totals->behind_loads += card.behind_loads;
  }
  totals->flips_found += driver.flips_found();
  totals->carrying_steps += driver.carrying_steps();
  for (size_t f = 0; f < kFaultKinds; ++f) totals->faults[f] += driver.faults().counts()[f];
}

}  // namespace

std::string RunFaultSeed(uint64_t seed, SeedTotals* totals) {
  const Plan plan = PlanOf(seed);
  const std::vector<Action> script = RandomScript(seed, plan.machine, plan.script);
  ++totals->seeds;
  std::string error = Open(plan);
  if (!error.empty()) return error;
  error = PlayPlan(plan, script);
  totals->steps += last_driver->core().counters().steps;
  Add(*last_driver, totals);
  if (!error.empty() || plan.hard) return error;
  if (last_driver->injected() > 0) return "a fault that is cured reached the core";

  const std::string decided = Decided(last_driver->core().counters());
  const Plan other = OtherWay(plan, seed);
  ++totals->compared;
  error = Open(other);
  if (error.empty()) error = PlayPlan(other, script);
  if (!error.empty()) return "the second time: " + error;
  const std::string again = Decided(last_driver->core().counters());
  if (again == decided) return "";
  return "another order of answers led to other decisions:\n  " + decided + "\n  " + again;
}

std::string LastSeedError() { return last_driver == nullptr ? "" : last_driver->error(); }

void DescribeLastSeed(std::FILE* out) {
  if (last_driver == nullptr) return;
  const CoreOptions& o = last_driver->options();
  const Geometry& g = o.geometry;
  std::fprintf(out, "%u layers of %u experts, top-%u, %u size classes, %zu cards, %u drives; %s",
               g.layers, g.experts, g.top_k, g.size_classes, o.cards.size(), g.drives,
               o.policy.c_str());
  if (!o.host_class_slots.empty()) {
    std::fprintf(out, ", %s host tier %s", o.host_exclusive ? "exclusive" : "inclusive",
                 o.host_policy.c_str());
  }
  std::fprintf(out, "\nlast events:\n");
  last_driver->promises().PrintTail(out);
}

}  // namespace berth::scheduler
