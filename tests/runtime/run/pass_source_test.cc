// The passes that requests make: streams, windows, prompts, chosen requests.
#include "runtime/run/pass_source.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace berth {
namespace {

TraceInfo Trace(std::vector<uint32_t> request_rows, std::vector<uint32_t> pass_rows = {}) {
  TraceInfo trace;
  trace.layers = trace.experts = trace.top_k = 1;
  trace.rows = std::accumulate(request_rows.begin(), request_rows.end(), uint64_t{0});
  trace.request_rows = std::move(request_rows);
  trace.pass_rows = std::move(pass_rows);
  return trace;
}

// "0 1|2" is a pass of the rows 0 and 1, then one of row 2.
std::string Passes(const TraceInfo& trace, const PassOptions& options) {
  Result<PassSource> source = PassSource::Create(trace, options);
  if (!source.ok()) return source.status().ToString();
  std::string text;
  uint64_t passes = 0;
  size_t widest = 0;
  for (std::span<const uint64_t> rows; !(rows = source->Next()).empty(); ++passes) {
    if (passes > 0) text += "|";
    for (size_t r = 0; r < rows.size(); ++r) text += (r > 0 ? " " : "") + std::to_string(rows[r]);
    widest = std::max(widest, rows.size());
  }
  EXPECT_EQ(passes, source->passes());
  EXPECT_EQ(widest, source->max_rows());
  EXPECT_TRUE(source->Next().empty());
  EXPECT_EQ(source->running(), 0u);
  return text;
}

TEST(PassSource, RowByRowAndInWindowsThatEndWithTheirRequest) {
  EXPECT_EQ(Passes(Trace({3, 2}), {}), "0|1|2|3|4");
  EXPECT_EQ(Passes(Trace({3, 2}), {.window = 2}), "0 1|2|3 4");
  EXPECT_EQ(Passes(Trace({3, 0, 2}), {.window = 9}), "0 1 2|3 4");
  EXPECT_EQ(Passes(Trace({3, 2}), {.window = 2, .max_passes = 2}), "0 1|2");
  EXPECT_EQ(Passes(Trace({}), {}), "");
}

TEST(PassSource, StreamsTakeTheNextRequestWhenTheirsEnds) {
  EXPECT_EQ(Passes(Trace({3, 1, 2}), {.streams = 2}), "0 3|1 4|2 5");
  EXPECT_EQ(Passes(Trace({3, 1, 2}), {.streams = 7}), "0 3 4|1 5|2");
  EXPECT_EQ(Passes(Trace({3, 1, 2}), {.streams = 2, .window = 2}), "0 1 3|2 4 5");
}

TEST(PassSource, SaysWhichStreamsBeganAndTookPart) {
  Result<PassSource> source = PassSource::Create(Trace({2, 1, 2}), {.streams = 2});
  ASSERT_TRUE(source.ok());
  std::vector<std::pair<uint32_t, uint32_t>> seen;
  while (!source->Next().empty()) seen.emplace_back(source->started(), source->running());
  EXPECT_EQ(seen, (std::vector<std::pair<uint32_t, uint32_t>>{{2, 2}, {1, 2}, {0, 1}}));
}

TEST(PassSource, PromptsInChunksThenWindows) {
  EXPECT_EQ(Passes(Trace({6, 2}), {.prompt_rows = 4}), "0 1 2 3|4|5|6 7");
  EXPECT_EQ(Passes(Trace({6, 2}), {.prompt_rows = 4, .prompt_chunk = 3}), "0 1 2|3|4|5|6 7");
  EXPECT_EQ(Passes(Trace({7}), {.window = 2, .prompt_rows = 4, .prompt_chunk = 9}),
            "0 1 2 3|4 5|6");
  EXPECT_EQ(Passes(Trace({5, 3}), {.streams = 2, .prompt_rows = 2, .prompt_chunk = 2}),
            "0 1 5 6|2 7|3|4");
}

TEST(PassSource, KeepsWidePassesOfTheTraceAndWindowsTheOthers) {
  const TraceInfo trace = Trace({8, 3}, {3, 1, 1, 1, 2, 2, 1});
  EXPECT_EQ(Passes(trace, {}), "0 1 2|3|4|5|6 7|8 9|10");
  EXPECT_EQ(Passes(trace, {.window = 2}), "0 1 2|3 4|5|6 7|8 9|10");
  EXPECT_EQ(Passes(trace, {.window = 5}), "0 1 2|3 4 5|6 7|8 9|10");
  EXPECT_EQ(Passes(Trace({2, 2}, {1, 1, 1, 1}), {.window = 3}), "0 1|2 3");
}

TEST(PassSource, ThePromptOfATraceIsWhatItsRequestsBeginWith) {
  const TraceInfo trace = Trace({8, 3}, {3, 2, 1, 2, 2, 1});
  EXPECT_EQ(Passes(trace, {.prompt_chunk = 4}), "0 1 2 3|4|5|6 7|8 9|10");
  EXPECT_EQ(Passes(trace, {.prompt_chunk = 64}), "0 1 2 3 4|5|6 7|8 9|10");
  // A length given by name goes before; a pass that it cuts gives the rest of its rows.
  EXPECT_EQ(Passes(trace, {.prompt_rows = 4, .prompt_chunk = 4}), "0 1 2 3|4|5|6 7|8 9 10");
  EXPECT_EQ(Passes(trace, {.window = 2, .prompt_rows = 4, .prompt_chunk = 4}),
            "0 1 2 3|4 5|6 7|8 9 10");
  EXPECT_EQ(Passes(Trace({6}, {6}), {.prompt_rows = 2}), "0 1|2 3 4 5");
}

TEST(PassSource, PlaysTheRequestsThatWereChosen) {
  const TraceInfo trace = Trace({2, 1, 0, 2}, {2, 1, 1, 1});
  EXPECT_EQ(Passes(trace, {.requests = {3, 0}}), "3|4|0 1");
  EXPECT_EQ(Passes(trace, {.streams = 2, .requests = {3, 2, 3}}), "3 3|4 4");
  EXPECT_EQ(Passes(trace, {.requests = {2}}), "");
  const Result<PassSource> beyond = PassSource::Create(trace, {.requests = {4}});
  EXPECT_EQ(beyond.status().code(), StatusCode::kOutOfRange);
  EXPECT_NE(beyond.status().message().find("request 4: the trace has 4"), std::string::npos);
}

TEST(PassSource, RefusesWhatCannotBe) {
  EXPECT_FALSE(PassSource::Create(Trace({1}), {.streams = 0}).ok());
  EXPECT_FALSE(PassSource::Create(Trace({1}), {.window = 0}).ok());
  EXPECT_FALSE(PassSource::Create(Trace({1}), {.prompt_chunk = 8}).ok());
  EXPECT_FALSE(PassSource::Create(Trace({2, 1}, {1, 2}), {}).ok());
  EXPECT_FALSE(PassSource::Create(Trace({2, 1}, {2}), {}).ok());
  EXPECT_FALSE(PassSource::Create(Trace({2}, {0, 2}), {}).ok());
}

}  // namespace
}  // namespace berth
