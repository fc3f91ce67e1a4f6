// A card of the gpu backend keeps memory of its own for what it computes: a simulation of it has
// the slots that a run has, and refuses what a run refuses.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/gpu/gpu_device.h"
#include "runtime/simulate/simulate.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

using kernels::DeviceOptions;

RunOptions OnACard(uint64_t memory_bytes, uint64_t arena_bytes) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.passes.max_passes = 1;
  CardConfig& card = options.runtime.cards[0];
  card.device = "cuda:0";
  card.memory_bytes = memory_bytes;
  card.arena_bytes = arena_bytes;
  options.open = [](const RuntimeOptions& runtime) {
    EngineHooks hooks;
    hooks.open_device =
        [](const DeviceOptions& device) -> Result<std::unique_ptr<kernels::Device>> {
      return kernels::OpenEmulatedDevice(device);
    };
    return OpenRuntime(runtime, hooks);
  };
  return options;
}

Result<RunReport> Simulated(const RunOptions& options) {
  SimulateOptions simulate;
  simulate.run = options;
  return Simulate(simulate);
}

// The least memory with which an arena that was asked for, or the smallest, is simulated.
uint64_t LeastMemory(uint64_t arena_bytes) {
  uint64_t low = 0, high = 1 << 26;
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    (Simulated(OnACard(middle, arena_bytes)).ok() ? high : low) = middle;
  }
  return high;
}

void ExpectSame(const RunOptions& options, bool good) {
  const Result<RunReport> ran = RunTrace(options), simulated = Simulated(options);
  ASSERT_EQ(ran.status().code(), simulated.status().code()) << ran.status().ToString() << "\n"
                                                            << simulated.status().ToString();
  EXPECT_EQ(ran.status().message(), simulated.status().message());
  EXPECT_EQ(ran.ok(), good);
  if (!ran.ok()) return;
  EXPECT_EQ(ran->info.cards[0].class_slots, simulated->info.cards[0].class_slots);
  EXPECT_EQ(ran->info.cards[0].ring_slots, simulated->info.cards[0].ring_slots);
  EXPECT_EQ(scheduler::Decided(ran->stats.counters), scheduler::Decided(simulated->stats.counters));
}

TEST(GpuSimulate, AnArenaThatWasAskedForIsRefusedByBothOrNeither) {
  const uint64_t arena = SmallModel::Get().minimum_arena;
  const uint64_t least = LeastMemory(arena);
  // More than arena and ring alone.
  EXPECT_GT(least, arena + 100'000);
  for (const uint64_t memory : {least - 256, least - 1, least, least + 100'000}) {
    SCOPED_TRACE(memory);
    ExpectSame(OnACard(memory, arena), /*good=*/memory >= least);
  }
  const Status refused = Simulated(OnACard(least - 1, arena)).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  for (const char* part : {"card cuda:0", "for what is computed", "lower --arena to"}) {
    EXPECT_NE(refused.message().find(part), std::string_view::npos) << refused.ToString();
  }
  // Nothing but a smaller step would help.
  EXPECT_NE(Simulated(OnACard(1000, arena)).status().message().find("max_rows"),
            std::string_view::npos);
}

TEST(GpuSimulate, AnArenaThatWasLeftOpenHasTheSameSlots) {
  const uint64_t least = LeastMemory(0);
  for (const uint64_t more : {0, 50'000, 333'333, 20'000'000}) {
    SCOPED_TRACE(more);
    ExpectSame(OnACard(least + more, 0), /*good=*/true);
  }
  ExpectSame(OnACard(least - 1, 0), /*good=*/false);
  ExpectSame(OnACard(1, 0), /*good=*/false);
}

// What is computed takes more where steps have more rows.
TEST(GpuSimulate, RowsTakeSlots) {
  const uint64_t memory = LeastMemory(0) + 200'000;
  const auto slots = [memory](uint32_t window) {
    RunOptions options = OnACard(memory, 0);
    options.trace = SmallModel::Get().plain_trace;  // its passes are this test's to choose
    options.passes.window = window;
    const Result<RunReport> report = Simulated(options);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? report->info.cards[0].arena_slots : 0;
  };
  const uint32_t many = slots(1), few = slots(4);
  EXPECT_GT(many, few);
  EXPECT_GT(few, 0u);
}

}  // namespace
}  // namespace berth::testing
