// A simulation allocates while it is set up and nothing after.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/mix.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/simulate/virtual_machine.h"
#include "tests/new_counter.h"

namespace berth::testing {
namespace {

constexpr uint32_t kLayers = 4, kExperts = 64, kTopK = 4;

void Play(VirtualMachine* machine, uint64_t passes, uint64_t* pass) {
  std::array<int32_t, kTopK> ids;
  for (uint64_t p = 0; p < passes; ++p, ++*pass) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      for (uint32_t k = 0; k < kTopK; ++k) {
        ids[k] = static_cast<int32_t>((ScatterBits(*pass * 977 + layer * 31) + k * 7) % kExperts);
      }
      const std::array<int32_t, 2> hint = {ids[0], (ids[0] + 1) % static_cast<int32_t>(kExperts)};
      BERTH_CHECK(machine->Step(layer, 1, ids, *pass).ok());
      BERTH_CHECK(machine->Hint((layer + 1) % kLayers, hint, *pass).ok());
      BERTH_CHECK(machine->EndStep().ok());
    }
  }
}

TEST(SimulateAllocation, NoneOnceWarm) {
  RuntimeOptions options;
  options.cards = {CardConfig{"a:0", 24 * 4096}, CardConfig{"a:1", 24 * 4096}};
  options.host_tier_bytes = 20 * 4096;
  options.max_in_flight = 1;
  const std::vector<uint64_t> bytes = {4096};
  const Result<ModelSizes> sizes = StatedSizes(kLayers, kExperts, kTopK, bytes);
  ASSERT_TRUE(sizes.ok());
  PlanInputs inputs;
  inputs.options = &options;
  inputs.model = &*sizes;
  inputs.available_bytes = uint64_t{1} << 40;
  inputs.card_free_bytes = {1 << 30, 1 << 30};
  Result<MemoryPlan> plan = PlanMemory(inputs);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  MachineProfile profile;
  profile.storage.latency_s = 1e-4;
  profile.host.dispatch_hit_s = 1e-6;
  auto machine = VirtualMachine::Create(MakeCosts(profile, options.cards), std::move(plan->core));
  ASSERT_TRUE(machine.ok()) << machine.status().ToString();
  uint64_t pass = 0;
  Play(machine->get(), 200, &pass);
  const uint64_t before = NewCalls();
  Play(machine->get(), 2000, &pass);
  EXPECT_EQ(NewCalls() - before, 0u);
  EXPECT_GT((*machine)->core().counters().cards[0].misses, 100u);
}

}  // namespace
}  // namespace berth::testing
