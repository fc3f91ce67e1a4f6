// What a synthetic trace must be, whatever its figures: reproducible, well formed, as asked.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/hash.h"
#include "runtime/synth/synth.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

SynthOptions Small() {
  SynthOptions options;
  options.layers = 3;
  options.experts = 40;
  options.top_k = 4;
  options.requests = 6;
  options.passes = 90;
  options.pass_rows = 2;
  // Whatever the defaults come to be.
  options.short_share = 0.5;
  options.short_length = 0.2;
  options.scale_first = 0.45;
  options.scale_last = 0.15;
  options.sigma = 2.1;
  options.affinity = 0.4;
  options.drift = 0.03;
  options.keep = 0.15;
  return options;
}

std::unique_ptr<SynthTrace> MakeOrDie(const SynthOptions& options) {
  auto made = SynthTrace::Create(options);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return std::move(made).value();
}

uint64_t HashOf(const SynthOptions& options) {
  const auto synth = MakeOrDie(options);
  StreamHash64 hash;
  for (uint64_t row = 0; row < synth->info().rows; ++row) {
    const TraceRow made = synth->Next();
    hash.Update(made.experts.data(), made.experts.size_bytes());
    hash.Update(made.predicted_1_ahead.data(), made.predicted_1_ahead.size_bytes());
    hash.Update(made.predicted_2_ahead.data(), made.predicted_2_ahead.size_bytes());
  }
  return hash.Digest();
}

// A change of these is a change of every trace that anyone has made: say so where it is made.
TEST(SynthTrace, TheSameOptionsGiveTheSameTraceOnEveryMachine) {
  SynthOptions options = Small();
  EXPECT_EQ(HashOf(options), 17867629194225923140u);
  options.recall_1_ahead = 0.7;
  options.recall_2_ahead = 0.5;
  options.prompt_rows = 7;
  options.prompt_pass_rows = 4;
  EXPECT_EQ(HashOf(options), 1747543666080916976u);
  options.independent = true;
  EXPECT_EQ(HashOf(options), 2820645430399169699u);
}

TEST(SynthTrace, EveryOptionHasAnEffect) {
  using Change = std::function<void(SynthOptions*)>;
  const uint64_t plain = HashOf(Small());
  for (const Change& change : std::vector<Change>{[](auto* o) { o->layers = 2; },
                                                  [](auto* o) { o->experts = 41; },
                                                  [](auto* o) { o->top_k = 5; },
                                                  [](auto* o) { o->requests = 5; },
                                                  [](auto* o) { o->passes = 91; },
                                                  [](auto* o) { o->short_share = 0.2; },
                                                  [](auto* o) { o->short_length = 0.9; },
                                                  [](auto* o) { o->pass_rows = 3; },
                                                  [](auto* o) { o->prompt_rows = 1; },
                                                  [](auto* o) { o->scale_first = 0.1; },
                                                  [](auto* o) { o->scale_last = 0.5; },
                                                  [](auto* o) { o->head = 1; },
                                                  [](auto* o) { o->model_seed = 2; },
                                                  [](auto* o) { o->sigma = 1; },
                                                  [](auto* o) { o->sigma_least = 0; },
                                                  [](auto* o) { o->sigma_most = 2; },
                                                  [](auto* o) { o->affinity = 0; },
                                                  [](auto* o) { o->drift = 0; },
                                                  [](auto* o) { o->keep = 0.8; },
                                                  [](auto* o) { o->independent = true; },
                                                  [](auto* o) { o->recall_1_ahead = 0.5; },
                                                  [](auto* o) { o->seed = 2; }}) {
    SynthOptions options = Small();
    change(&options);
    EXPECT_NE(HashOf(options), plain) << DescribeSynthOptions(options);
  }
  SynthOptions options = Small();
  options.head = 1;
  const uint64_t head = HashOf(options);
  options.head_ranks = 1;
  EXPECT_NE(HashOf(options), head);
}

TEST(SynthTrace, RowsNameDifferentExperts) {
  const SynthOptions options = Small();
  const auto synth = MakeOrDie(options);
  ASSERT_EQ(synth->info().rows, 180u);
  for (uint64_t row = 0; row < synth->info().rows; ++row) {
    const TraceRow made = synth->Next();
    ASSERT_EQ(made.experts.size(), 12u);
    for (size_t layer = 0; layer < 3; ++layer) {
      const auto experts = made.experts.subspan(layer * 4, 4);
      EXPECT_EQ(std::set<int32_t>(experts.begin(), experts.end()).size(), 4u);
      EXPECT_GE(*std::min_element(experts.begin(), experts.end()), 0);
      EXPECT_LT(*std::max_element(experts.begin(), experts.end()), 40);
    }
  }
}

TEST(SynthTrace, LengthsAddUp) {
  SynthOptions options = Small();
  options.requests = 17;
  options.passes = 1000;
  const auto synth = MakeOrDie(options);
  const std::vector<uint32_t>& rows = synth->info().request_rows;
  ASSERT_EQ(rows.size(), 17u);
  uint64_t sum = 0;
  for (const uint32_t each : rows) sum += each;
  EXPECT_EQ(sum, 2000u);
  EXPECT_EQ(synth->info().rows, 2000u);
  EXPECT_TRUE(synth->info().pass_rows.empty());
  // Short ones and long ones.
  EXPECT_GT(*std::max_element(rows.begin(), rows.end()),
            4 * *std::min_element(rows.begin(), rows.end()));

  options.passes = 17;
  EXPECT_EQ(MakeOrDie(options)->info().request_rows, std::vector<uint32_t>(17, 2));
}

TEST(SynthTrace, PromptsComeInChunks) {
  SynthOptions options = Small();
  options.requests = 2;
  options.passes = 2;
  options.prompt_rows = 10;
  options.prompt_pass_rows = 4;
  const auto synth = MakeOrDie(options);
  EXPECT_EQ(synth->info().pass_rows, (std::vector<uint32_t>{4, 4, 2, 1, 1, 4, 4, 2, 1, 1}));
  EXPECT_EQ(synth->info().request_rows, (std::vector<uint32_t>{12, 12}));
}

TEST(SynthTrace, RequestsBelongToStreamsInTurn) {
  SynthOptions options = Small();
  EXPECT_TRUE(MakeOrDie(options)->info().streams.empty());
  options.streams = 4;
  EXPECT_EQ(MakeOrDie(options)->info().streams, (std::vector<uint32_t>{0, 1, 2, 3, 0, 1}));
}

TEST(SynthTrace, PredictionsHaveTheRecallAskedFor) {
  SynthOptions options = Small();
  options.passes = 2000;
  options.recall_1_ahead = 0.74;
  options.recall_2_ahead = 0.3;
  const auto synth = MakeOrDie(options);
  const auto plain = MakeOrDie([&] {
    SynthOptions without = options;
    without.recall_1_ahead = without.recall_2_ahead = 0;
    return without;
  }());
  ASSERT_EQ(synth->info().predictions_ahead, 2u);
  uint64_t said = 0, said_2 = 0, right = 0, right_2 = 0;
  for (uint64_t row = 0; row < synth->info().rows; ++row) {
    const TraceRow made = synth->Next();
    // What routers say changes nothing of what they do.
    ASSERT_TRUE(std::ranges::equal(made.experts, plain->Next().experts));
    for (size_t layer = 0; layer < 3; ++layer) {
      const auto experts = made.experts.subspan(layer * 4, 4);
      const auto check = [&](std::span<const int32_t> predicted, bool some, uint64_t* all,
                             uint64_t* hits) {
        if (!some) {
          EXPECT_EQ(std::count(predicted.begin(), predicted.end(), kNoExpert), 4);
          return;
        }
        ASSERT_EQ(std::set<int32_t>(predicted.begin(), predicted.end()).size(), 4u);
        for (const int32_t id : predicted) {
          ++*all;
          *hits += std::count(experts.begin(), experts.end(), id) > 0 ? 1 : 0;
        }
      };
      check(made.predicted_1_ahead.subspan(layer * 4, 4), layer >= 1, &said, &right);
      check(made.predicted_2_ahead.subspan(layer * 4, 4), layer >= 2, &said_2, &right_2);
    }
  }
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(said), 0.74, 0.015);
  EXPECT_NEAR(static_cast<double>(right_2) / static_cast<double>(said_2), 0.3, 0.015);
}

TEST(SynthTrace, AFileAndMemoryHoldTheSame) {
  SynthOptions options = Small();
  options.recall_1_ahead = 0.5;
  const testing::TemporaryDirectory directory;
  const std::string path = (directory.path() / "t.safetensors").string();
  const auto synth = MakeOrDie(options);
  auto writer = TraceWriter::Create(path, synth->info());
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  for (uint64_t row = 0; row < synth->info().rows; ++row) {
    ASSERT_TRUE((*writer)->Append(synth->Next()).ok());
  }
  ASSERT_TRUE((*writer)->Commit().ok());

  const auto file = TraceFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const auto memory = MakeSynthTrace(options);
  ASSERT_TRUE(memory.ok()) << memory.status().ToString();
  EXPECT_EQ((*file)->info().source, DescribeSynthOptions(options));
  for (uint64_t row = 0; row < synth->info().rows; ++row) {
    ASSERT_TRUE(std::ranges::equal(*(*file)->Experts(row), *(*memory)->Experts(row)));
    ASSERT_TRUE(std::ranges::equal(*(*file)->Predicted(row, 1), *(*memory)->Predicted(row, 1)));
  }
}

TEST(SynthTrace, MemoryIsBounded) {
  const auto made = MakeSynthTrace(Small(), 1000);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kResourceExhausted);
}

TEST(SynthTrace, RefusesWhatCannotBe) {
  using Change = std::function<void(SynthOptions*)>;
  const std::vector<std::pair<Change, std::string>> wrong = {
      {[](auto* o) { o->layers = 0; }, "--layers 0: expected 1 to"},
      {[](auto* o) { o->experts = 40000; }, "--experts 40000"},
      {[](auto* o) { o->top_k = 40; }, "--top-k 40: expected 1 to 39"},
      {[](auto* o) { o->requests = 0; }, "--requests 0"},
      {[](auto* o) { o->passes = 5; }, "--passes 5: expected at least one for each"},
      {[](auto* o) { o->pass_rows = 0; }, "--pass-rows 0"},
      {[](auto* o) { o->prompt_pass_rows = 0; }, "--prompt-pass-rows 0"},
      {[](auto* o) { o->streams = 0; }, "--streams 0"},
      {[](auto* o) { o->short_length = 0; }, "--short-length 0"},
      {[](auto* o) { o->scale_first = -1; }, "--scale-first -1"},
      {[](auto* o) { o->scale_last = 0; }, "--scale-last 0"},
      {[](auto* o) { o->sigma = 1e300 * 1e300; }, "--sigma inf"},
      {[](auto* o) { o->sigma_least = 1.5; }, "--sigma-least 1.5: expected at most --sigma-most"},
      {[](auto* o) { o->affinity = 1.1; }, "--affinity 1.1"},
      {[](auto* o) { o->drift = -0.1; }, "--drift -0.1"},
      {[](auto* o) { o->keep = 0.0 / 0.0; }, "--keep"},
      {[](auto* o) { o->recall_2_ahead = 0.5; }, "needs --recall-1-ahead"},
      {[](auto* o) {
         o->recall_1_ahead = 0.5;
         o->top_k = 21;
       },
       "at least 2 x top-k = 42"},
      {[](auto* o) {
         o->passes = 1u << 31;
         o->pass_rows = 1u << 20;
       },
       "take fewer passes"}};
  for (const auto& [change, part] : wrong) {
    SynthOptions options = Small();
    change(&options);
    const auto made = SynthTrace::Create(options);
    ASSERT_FALSE(made.ok()) << part;
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(made.status().ToString().find(part), std::string::npos) << made.status().ToString();
  }
}

}  // namespace
}  // namespace berth
