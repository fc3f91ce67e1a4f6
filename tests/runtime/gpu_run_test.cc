// Runs whose cards are the gpu backend's, on the emulated card: the same bits and the same
// decisions as on host cards, and a card that is lost fails steps and hangs nobody.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "kernels/gpu/gpu_device.h"
#include "kernels/gpu/vendor_emulated_runtime.h"
#include "tests/runtime/session_work.h"
#include "tests/runtime/small_model.h"
#include "tests/scheduler/decided.h"

namespace berth::testing {
namespace {

using kernels::DeviceOptions;

// `kernel_copies`: where not null, counts cards that copy by a kernel.
EngineHooks Emulated(int* kernel_copies = nullptr) {
  EngineHooks hooks;
  hooks.open_device =
      [kernel_copies](const DeviceOptions& options) -> Result<std::unique_ptr<kernels::Device>> {
    if (!options.name.starts_with("cuda")) return kernels::OpenDevice(options);
    const bool by_kernel = options.copy_path == kernels::CopyPath::kKernel;
    if (kernel_copies != nullptr && by_kernel) ++*kernel_copies;
    return kernels::OpenEmulatedDevice(options);
  };
  return hooks;
}

RunOptions On(std::vector<std::string> cards) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  // Every unit exact: wide bits are promised per kind of card only.
  options.runtime.exact_rows = 16;
  const CardConfig card = options.runtime.cards[0];
  options.runtime.cards.clear();
  for (const std::string& name : cards) {
    options.runtime.cards.push_back(card);
    options.runtime.cards.back().device = name;
  }
  options.open = [](const RuntimeOptions& runtime) { return OpenRuntime(runtime, Emulated()); };
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

TEST(GpuRun, CopiesByAKernel) {
  RunOptions options = On({"cuda:0"});
  const RunReport engine = Good(options).value();
  EXPECT_EQ(engine.info.cards[0].copy_path, "engine");
  options.runtime.cards[0].copy_path = "kernel";
  int by_kernel = 0;
  options.open = [&](const RuntimeOptions& runtime) {
    return OpenRuntime(runtime, Emulated(&by_kernel));
  };
  const RunReport kernel = Good(options).value();
  EXPECT_EQ(by_kernel, 1);
  EXPECT_EQ(kernel.info.cards[0].copy_path, "kernel");
  EXPECT_EQ(kernel.output_hash, engine.output_hash);
  EXPECT_EQ(scheduler::Decided(kernel.stats.counters), scheduler::Decided(engine.stats.counters));
  ExpectSameAsHost(On({"cuda:0"}));
  // A host card copies as it does.
  options.runtime.cards[0].device = "host:0";
  EXPECT_FALSE(RunTrace(options).ok());
  options.runtime.cards[0].device = "cuda:0";
  options.runtime.cards[0].copy_path = "kernels";
  EXPECT_FALSE(RunTrace(options).ok());
}

// A profile of the emulated card that chose this kernel for every call of the model's first layers,
// or of another card.
std::string ProfileOf(const std::string& kernel, const std::string& name, bool of_another = false) {
  DeviceOptions options;
  options.name = "cuda:0";
  const auto device = kernels::OpenEmulatedDevice(options);
  EXPECT_TRUE(device.ok());
  std::string properties = (*device)->info().properties;
  if (of_another) properties += " and more";
  std::string choices;
  for (const int rows : {1, 4, 16}) {
    choices += std::string(choices.empty() ? "" : ",") +
               R"({"gate": "iq3_s", "up": "iq3_s", "down": "iq4_nl", "hidden": 256, "ffn": 64,)" +
               R"( "experts": 24, "top_k": 4, "kernel": ")" + kernel + R"(", "rows": )" +
               std::to_string(rows) + "}";
  }
  const std::string path = SmallModel::Get().File(name);
  std::ofstream(path) << R"({"name": "p", "cards": [{"card": "cuda:0", "properties": ")"
                      << properties << R"(", "choices": [)" << choices << "]}]}";
  return path;
}

bool HasNote(const RunReport& report, const std::string& part) {
  for (const std::string& note : report.info.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(GpuRun, KernelsAreThoseThatTheProfileChose) {
  RunOptions options = On({"cuda:0"});
  const RunReport unasked = Good(options).value();
  ASSERT_EQ(unasked.stats.launches.size(), 1u);
  EXPECT_EQ(unasked.stats.launches[0].plain, 0u);
  EXPECT_EQ(unasked.stats.launches[0].matrices, 0u);
  const uint64_t all = unasked.stats.launches[0].dots;
  EXPECT_GT(all, 0u);
  for (const std::string kernel : {"plain", "matrices", "dots", "wide:16"}) {
    SCOPED_TRACE(kernel);
    options.runtime.profile = ProfileOf(kernel, "chosen.json");
    const RunReport report = Good(options).value();
    EXPECT_EQ(report.output_hash, unasked.output_hash);
    EXPECT_EQ(scheduler::Decided(report.stats.counters),
              scheduler::Decided(unasked.stats.counters));
    EXPECT_EQ(report.info.cards[0].chosen_layers, 2u);
    EXPECT_TRUE(HasNote(report, "chosen.json chose the kernels of 2 of 4 layers"));
    const KernelLaunches& ran = report.stats.launches[0];
    EXPECT_EQ(ran.plain + ran.matrices + ran.dots, all);
    // Two of the four layers; what would change bits is not obeyed.
    EXPECT_EQ(ran.plain > 0, kernel == "plain");
    EXPECT_EQ(ran.matrices > 0, kernel == "matrices");
    EXPECT_GT(ran.dots, 0u);
  }
}

// Calls of more rows than exact_rows: a choice changes how many pairs are taken at a time, and
// nothing else.
TEST(GpuRun, ChoicesDoNotChangeWideBits) {
  RunOptions options = On({"cuda:0"});
  options.runtime.exact_rows = 2;
  options.passes.max_passes = 2;
  const RunReport unasked = Good(options).value();
  EXPECT_GT(unasked.stats.launches[0].wide, 0u);
  for (const std::string kernel : {"plain", "wide:16"}) {
    options.runtime.profile = ProfileOf(kernel, "wide.json");
    const RunReport report = Good(options).value();
    EXPECT_EQ(report.output_hash, unasked.output_hash) << kernel;
    EXPECT_EQ(report.stats.launches[0].wide, unasked.stats.launches[0].wide) << kernel;
  }
}

TEST(GpuRun, AProfileOfAnotherCardIsNotUsedAndSaidSo) {
  RunOptions options = On({"cuda:0"});
  const uint64_t hash = *Good(options)->output_hash;
  options.runtime.profile = ProfileOf("plain", "foreign.json", /*of_another=*/true);
  const RunReport report = Good(options).value();
  EXPECT_EQ(report.output_hash, hash);
  EXPECT_EQ(report.stats.launches[0].plain, 0u);
  EXPECT_EQ(report.info.cards[0].chosen_layers, 0u);
  EXPECT_TRUE(HasNote(report, "foreign.json chose are not used: measured on 'emulated card"));
  // Of a card like it that has another number it is.
  options.runtime.profile = ProfileOf("plain", "like.json");
  options.runtime.cards[0].device = "cuda:1";
  EXPECT_GT(Good(options)->stats.launches[0].plain, 0u);
  options.runtime.cards[0].device = "cuda:0";
  // A bad choice is an error at once.
  options.runtime.profile = ProfileOf("fast", "bad.json");
  const auto refused = RunTrace(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("no kernel 'fast'"), std::string::npos);
}

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
