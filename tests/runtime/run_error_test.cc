// Traces that do not belong to the model, or that are wrong inside: one line, and no run.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/runtime/small_model.h"
#include "tests/runtime/trace_builder.h"

namespace berth::testing {
namespace {

void ExpectRefused(const RunOptions& options, StatusCode code, const std::string& part) {
  const Result<RunReport> report = RunTrace(options);
  ASSERT_FALSE(report.ok()) << part;
  EXPECT_EQ(report.status().code(), code) << report.status().ToString();
  EXPECT_NE(report.status().message().find(part), std::string::npos) << report.status().ToString();
  EXPECT_EQ(report.status().message().find('\n'), std::string::npos);
}

RunOptions WithTrace(const TraceBuilder& builder) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.trace = SmallModel::Get().File("bad.safetensors");
  builder.Write(options.trace);
  return options;
}

// Two rows of the small model's geometry.
TraceBuilder Fitting() {
  TraceBuilder builder;
  builder.metadata = {{"format", "moe-routing-trace/1"},
                      {"layers", std::to_string(kLayers)},
                      {"experts", std::to_string(kExperts)},
                      {"top_k", std::to_string(kTopK)},
                      {"none", "255"}};
  builder.Set<int32_t>("request_rows", io::SafetensorsType::kI32, {1}, {2});
  std::vector<uint8_t> ids(2 * kLayers * kTopK);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<uint8_t>(i % kExperts);
  builder.Set<uint8_t>("experts", io::SafetensorsType::kU8, {2, kLayers, kTopK}, ids);
  return builder;
}

TEST(RunError, TheTraceFitsBeforeItIsMadeWrong) {
  const Result<RunReport> report = RunTrace(WithTrace(Fitting()));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->tokens, 2u);
}

TEST(RunError, AnIdBeyondTheExperts) {
  TraceBuilder builder = Fitting();
  builder.data["experts"][kLayers * kTopK + 5] = static_cast<char>(kExperts);
  ExpectRefused(WithTrace(builder), StatusCode::kOutOfRange, "24");
}

TEST(RunError, AnotherGeometry) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.trace = SmallModel::Get().File("other-geometry.safetensors");
  WriteTrace(options.trace, {.layers = 3});
  ExpectRefused(options, StatusCode::kInvalidArgument, "3 MoE layers, the model has 4");
  WriteTrace(SmallModel::Get().File("e.safetensors"), {.experts = 16});
  options.trace = SmallModel::Get().File("e.safetensors");
  ExpectRefused(options, StatusCode::kInvalidArgument, "16 experts, the model has 24");
  WriteTrace(SmallModel::Get().File("k.safetensors"), {.top_k = 2});
  options.trace = SmallModel::Get().File("k.safetensors");
  ExpectRefused(options, StatusCode::kInvalidArgument, "they do not belong together");
}

TEST(RunError, OtherBlocks) {
  TraceBuilder builder = Fitting();
  builder.Meta("layer_ids", "[1, 2, 3, 4]");
  EXPECT_TRUE(RunTrace(WithTrace(builder)).ok());
  std::filesystem::remove(SmallModel::Get().File("bad.safetensors"));
  builder.Meta("layer_ids", "[0, 1, 2, 3]");
  ExpectRefused(WithTrace(builder), StatusCode::kInvalidArgument, "blocks 0, 1, 2, 3");
}

TEST(RunError, PassesThatContradict) {
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.passes = {.window = 0};
  ExpectRefused(options, StatusCode::kInvalidArgument, "--window");
  options.passes = {.streams = 0};
  ExpectRefused(options, StatusCode::kInvalidArgument, "--streams");
  options.trace = "/nowhere.safetensors";
  ExpectRefused(options, StatusCode::kNotFound, "/nowhere.safetensors");
}

TEST(RunError, MoreStreamsThanRequestsAreNoMore) {
  RunOptions options = Resident(SmallModel::Get().gguf);
  options.trace = SmallModel::Get().plain_trace;
  options.passes.streams = 3;
  const Result<RunReport> three = RunTrace(options);
  options.passes.streams = UINT32_MAX;
  const Result<RunReport> most = RunTrace(options);
  ASSERT_TRUE(three.ok() && most.ok());
  EXPECT_EQ(three->output_hash, most->output_hash);
}

// The run goes on past a failed step and says how many there were.
TEST(RunError, FailedStepsAreCountedAndNoHashIsGiven) {
  io::FaultPlan plan;
  plan.rate(io::Fault::kIoErrorStays) = 0.02;
  RunOptions options = Tight(SmallModel::Get().gguf);
  options.open = OpenOver(plan);
  const Result<RunReport> report = RunTrace(options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_GT(report->failed_steps, 0u);
  EXPECT_EQ(report->failed_steps, report->stats.counters.failed_steps);
  EXPECT_EQ(report->first_failure.code(), StatusCode::kUnavailable);
  EXPECT_FALSE(report->output_hash.has_value());
}

}  // namespace
}  // namespace berth::testing
