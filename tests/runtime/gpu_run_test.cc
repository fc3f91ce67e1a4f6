// Runs whose cards are the gpu backend's, on the emulated card: the same bits and the same
// decisions as on host cards, and a card that is lost fails steps and hangs nobody.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kernels/gpu/gpu_device.h"
#include "kernels/gpu/vendor_emulated_runtime.h"
#include "tests/runtime/session_work.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

using kernels::CopyPath;
using kernels::DeviceOptions;

EngineHooks Emulated(CopyPath copy_path = CopyPath::kEngine) {
  EngineHooks hooks;
  hooks.open_device =
      [copy_path](const DeviceOptions& options) -> Result<std::unique_ptr<kernels::Device>> {
    if (!options.name.starts_with("cuda")) return kernels::OpenDevice(options);
    DeviceOptions card = options;
    card.copy_path = copy_path;
    return kernels::OpenEmulatedDevice(card);
  };
  return hooks;
}

RunOptions On(std::vector<std::string> cards, CopyPath copy_path = CopyPath::kEngine) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  // Every unit exact: wide bits are promised per kind of card only.
  options.runtime.exact_rows = 16;
  const CardConfig card = options.runtime.cards[0];
  options.runtime.cards.clear();
  for (const std::string& name : cards) {
    options.runtime.cards.push_back(card);
    options.runtime.cards.back().device = name;
  }
  options.open = [copy_path](const RuntimeOptions& runtime) {
    return OpenRuntime(runtime, Emulated(copy_path));
  };
  return options;
}

void ExpectSameAsHost(const RunOptions& options) {
  RunOptions host = options;
  for (size_t c = 0; c < host.runtime.cards.size(); ++c) {
    host.runtime.cards[c].device = "host:" + std::to_string(c);
  }
  const RunReport want = Good(host).value();
  const RunReport got = Good(options).value();
  EXPECT_EQ(got.output_hash, want.output_hash);
  EXPECT_EQ(scheduler::Decided(got.stats.counters), scheduler::Decided(want.stats.counters));
}

TEST(GpuRun, OneCard) {
  ExpectSameAsHost(On({"cuda:0"}));
  RunOptions options = On({"cuda:0"});
  options.runtime.chunk = 5;
  options.runtime.host_tier_bytes = 400'000;
  options.runtime.host_exclusive = true;
  ExpectSameAsHost(options);
}

TEST(GpuRun, CopiesByAKernel) { ExpectSameAsHost(On({"cuda:0"}, CopyPath::kKernel)); }

TEST(GpuRun, TwoCardsOfOneKindAndOfTwo) {
  ExpectSameAsHost(On({"cuda:0", "cuda:1"}));
  ExpectSameAsHost(On({"host:0", "cuda:0"}));
  ExpectSameAsHost(On({"cuda:0", "host:0"}));
}

TEST(GpuRun, MissesOnTheHost) {
  for (const MissChoice miss : {MissChoice::kHost, MissChoice::kAuto}) {
    RunOptions options = On({"cuda:0"});
    options.runtime.miss = miss;
    options.runtime.host_tier_bytes = 500'000;
    const RunReport report = Good(options).value();
    EXPECT_GT(report.stats.counters.cards[0].host_computed, 0u);
    ExpectSameAsHost(options);
  }
}

TEST(GpuRun, MissesReadInPlace) {
  for (const uint64_t tier : {0, 500'000}) {
    RunOptions options = On({"cuda:0", "host:0"});
    options.runtime.host_tier_bytes = tier;
    const uint64_t hash = *Good(options)->output_hash;
    options.runtime.miss = MissChoice::kInPlace;
    const RunReport report = Good(options).value();
    EXPECT_EQ(report.output_hash, hash);
    EXPECT_GT(report.stats.counters.cards[0].host_computed, 0u);
    ExpectSameAsHost(options);
  }
}

TEST(GpuRun, ASizeThatIsLeftOpenTakesWhatThereIs) {
  RunOptions options = On({"cuda:0"});
  options.runtime.cards[0].arena_bytes = 0;
  const RunReport first = Good(options).value();
  EXPECT_EQ(Good(options)->stats.counters.cards[0].misses, first.stats.counters.cards[0].misses);
  EXPECT_EQ(Good(options)->output_hash, first.output_hash);
}

TEST(GpuRun, ALostCardFailsStepsAndHangsNobody) {
  using kernels::gpu::emulated::FailCall;
  for (const char* call : {"MemcpyAsync", "EventRecord", "EventQuery"}) {
    for (const int after : {40, 200}) {
      SCOPED_TRACE(call);
      RunOptions options = On({"cuda:0"});
      options.open = [&](const RuntimeOptions& runtime) {
        auto opened = OpenRuntime(runtime, Emulated());
        FailCall(call, gpuErrorLaunchFailure, after);
        return opened;
      };
      const Result<RunReport> report = RunTrace(options);
      FailCall(nullptr, gpuSuccess);
      if (!report.ok()) {
        EXPECT_NE(report.status().message().find("lost"), std::string::npos)
            << report.status().ToString();
        continue;
      }
      EXPECT_GT(report->failed_steps, 0u);
      // The card's own words, or those of the core, which no longer trusts a slot.
      const std::string_view message = report->first_failure.message();
      EXPECT_TRUE(message.find(call) != message.npos ||
                  message.find("a table update failed") != message.npos)
          << message;
    }
  }
}

TEST(GpuRun, SessionsWithStridesAndHalves) {
  RuntimeOptions options =
      SessionOptionsOf(SmallModel::Get().gguf, SmallModel::Get().minimum_arena);
  options.cards[0].device = "cuda:0";
  options.max_in_flight = 2;
  const auto runtime = OpenRuntime(options, Emulated());
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  for (uint32_t i = 0; i < 6; ++i) {
    Work work(i);
    const auto ticket = (*session)->Enqueue(work.Prepare());
    ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
    ASSERT_TRUE((*session)->Wait(*ticket).ok());
    EXPECT_EQ(work.y, ExpectedOutputs(6)[i]) << i;
    // The same into rows further apart, whose gaps stay as they are.
    constexpr uint32_t kStride = kHidden + 4;
    std::vector<float> wide(size_t{work.rows} * kStride, -7.0f);
    Step step = work.Prepare();
    step.y = wide.data();
    step.y_stride = kStride;
    const auto second = (*session)->Enqueue(step);
    ASSERT_TRUE(second.ok()) << second.status().ToString();
    ASSERT_TRUE((*session)->Wait(*second).ok());
    for (uint32_t r = 0; r < work.rows; ++r) {
      for (uint32_t h = 0; h < kStride; ++h) {
        const float want = h < kHidden ? ExpectedOutputs(6)[i][r * kHidden + h] : -7.0f;
        ASSERT_EQ(wide[r * kStride + h], want) << i << " " << r << " " << h;
      }
    }
  }
}

}  // namespace
}  // namespace berth::testing
