// The order and the contents of what a trace makes a target do.
#include "runtime/run/replay.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/trace_builder.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using io::SafetensorsType;
using testing::TemporaryDirectory;
using testing::TraceBuilder;

// Writes down what it is asked, one line each.
class Recorder final : public ReplayTarget {
 public:
  Status Step(const ReplayStep& step) override {
    std::string line = "step " + std::to_string(step.pass) + "/" + std::to_string(step.layer) + ":";
    for (const int32_t id : step.ids) line += " " + std::to_string(id);
    if (!step.weights.empty()) {
      line += " w";
      for (const float weight : step.weights) {
        line += " " + std::to_string(static_cast<int>(weight));
      }
    }
    lines.push_back(line);
    return lines.size() == fail_at ? UnavailableError("gone") : Status();
  }
  Status Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) override {
    std::string line = "hint " + std::to_string(pass) + "/" + std::to_string(layer) + ":";
    for (const int32_t id : experts) line += " " + std::to_string(id);
    lines.push_back(line);
    return Status();
  }
  Status EndStep(const ReplayStep& step) override {
    lines.push_back("end " + std::to_string(step.pass) + "/" + std::to_string(step.layer));
    return Status();
  }

  size_t fail_at = 0;
  std::vector<std::string> lines;
};

class ReplayTest : public ::testing::Test {
 protected:
  // Three layers, five experts, top-2; one request of two rows and one of one row.
  static TraceBuilder Predicting() {
    TraceBuilder builder = TraceBuilder::Small();
    builder.Meta("layers", "3");
    builder.Set<int32_t>("request_rows", SafetensorsType::kI32, {2}, {2, 1});
    builder.Set<uint8_t>("experts", SafetensorsType::kU8, {3, 3, 2},
                         {0, 1, 2, 3, 4, 0, /**/ 1, 255, 2, 4, 0, 1, /**/ 2, 0, 1, 3, 4, 2});
    builder.Set<uint8_t>("predicted_1_ahead", SafetensorsType::kU8, {3, 3, 2},
                         {9, 9, 3, 2, 4, 1, /**/ 9, 9, 2, 4, 1, 255, /**/ 9, 9, 255, 255, 0, 2});
    builder.Set<uint8_t>("predicted_2_ahead", SafetensorsType::kU8, {3, 3, 2},
                         {9, 9, 9, 9, 0, 1, /**/ 9, 9, 9, 9, 1, 2, /**/ 9, 9, 9, 9, 3, 4});
    // What was not foretold stands there as no expert.
    for (const char* name : {"predicted_1_ahead", "predicted_2_ahead"}) {
      for (char& id : builder.data[name]) id = id == 9 ? static_cast<char>(255) : id;
    }
    return builder;
  }

  Status Play(const TraceBuilder& builder, const PassOptions& passes,
              const PrefetchOptions& prefetch, Recorder* recorder) {
    const std::string path = directory_ / "trace";
    builder.Write(path);
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(path));
    BERTH_ASSIGN_OR_RETURN(PassSource source, PassSource::Create(trace->info(), passes));
    ReplayOptions options;
    options.prefetch = prefetch;
    options.layer_unit_bytes = layer_unit_bytes_;
    options.progress = [this](uint64_t done, uint64_t all) {
      progress_ += std::to_string(done) + "/" + std::to_string(all) + " ";
    };
    return Replay(trace.get(), &source, options, recorder);
  }

  const TemporaryDirectory directory_;
  std::vector<uint64_t> layer_unit_bytes_ = {100, 100, 100};
  std::string progress_;
};

TEST_F(ReplayTest, EveryLayerOfEveryPassInOrder) {
  Recorder recorder;
  TraceBuilder builder = Predicting();
  std::vector<float> weights(18);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  builder.Set("router_weights", SafetensorsType::kF32, {3, 3, 2}, weights);
  ASSERT_TRUE(Play(builder, {.streams = 2}, {}, &recorder).ok());
  EXPECT_EQ(recorder.lines,
            (std::vector<std::string>{
                "step 0/0: 0 1 2 0 w 0 1 12 13", "end 0/0", "step 0/1: 2 3 1 3 w 2 3 14 15",
                "end 0/1", "step 0/2: 4 0 4 2 w 4 5 16 17", "end 0/2", "step 1/0: 1 -1 w 6 7",
                "end 1/0", "step 1/1: 2 4 w 8 9", "end 1/1", "step 1/2: 0 1 w 10 11", "end 1/2"}));
  EXPECT_EQ(progress_, "1/2 2/2 ");
}

TEST_F(ReplayTest, HintsByVotesThenFirstAppearanceWithinTheBudget) {
  Recorder recorder;
  // Rows 0 and 1 in one pass. Layer 1: 2 has two votes, 3 and 4 one. Layer 2: 1 two, 4 one.
  ASSERT_TRUE(Play(Predicting(), {.window = 2}, {.step_bytes = 299}, &recorder).ok());
  EXPECT_EQ(recorder.lines,
            (std::vector<std::string>{
                "step 0/0: 0 1 1 -1", "hint 0/1: 2 3", "end 0/0", "step 0/1: 2 3 2 4",
                "hint 0/2: 1 4", "end 0/1", "step 0/2: 4 0 0 1", "end 0/2",  // nothing to foretell
                "step 1/0: 2 0", "end 1/0",                                  // no prediction there
                "step 1/1: 1 3", "hint 1/2: 0 2", "end 1/1", "step 1/2: 4 2", "end 1/2"}));
}

TEST_F(ReplayTest, TwoLayersAheadAndUnequalUnits) {
  Recorder recorder;
  layer_unit_bytes_ = {1, 1000, 50};
  ASSERT_TRUE(Play(Predicting(), {}, {.step_bytes = 99, .ahead = 2}, &recorder).ok());
  std::vector<std::string> hints;
  for (const std::string& line : recorder.lines) {
    if (line.starts_with("hint")) hints.push_back(line);
  }
  EXPECT_EQ(hints, (std::vector<std::string>{"hint 0/2: 0", "hint 1/2: 1", "hint 2/2: 3"}));
  EXPECT_EQ(recorder.lines[1], hints[0]);
  // Less than a unit hints nothing.
  Recorder none;
  layer_unit_bytes_ = {100, 100, 100};
  ASSERT_TRUE(Play(Predicting(), {}, {.step_bytes = 99}, &none).ok());
  for (const std::string& line : none.lines) EXPECT_FALSE(line.starts_with("hint")) << line;
}

TEST_F(ReplayTest, RefusesAPrefetchThatTheTraceCannotFeed) {
  Recorder recorder;
  TraceBuilder one = Predicting().Remove("predicted_2_ahead");
  const Status two_ahead = Play(one, {}, {.step_bytes = 100, .ahead = 2}, &recorder);
  EXPECT_EQ(two_ahead.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(two_ahead.message().find("--prefetch-ahead 1"), std::string::npos)
      << two_ahead.ToString();
  EXPECT_TRUE(Play(one, {}, {.step_bytes = 100}, &recorder).ok());
  recorder.lines.clear();
  const TraceBuilder none = one.Remove("predicted_1_ahead");
  const Status silent = Play(none, {}, {.step_bytes = 100}, &recorder);
  EXPECT_NE(silent.message().find("no predicted_1_ahead"), std::string::npos) << silent.ToString();
  EXPECT_FALSE(Play(Predicting(), {}, {.step_bytes = 100, .ahead = 3}, &recorder).ok());
  layer_unit_bytes_.pop_back();
  EXPECT_FALSE(Play(Predicting(), {}, {.step_bytes = 100}, &recorder).ok());
  layer_unit_bytes_ = {100, 0, 100};
  EXPECT_FALSE(Play(Predicting(), {}, {.step_bytes = 100}, &recorder).ok());
  EXPECT_TRUE(recorder.lines.empty());
}

TEST_F(ReplayTest, TheFirstErrorEndsIt) {
  Recorder recorder;
  recorder.fail_at = 3;
  EXPECT_EQ(Play(Predicting(), {}, {}, &recorder).code(), StatusCode::kUnavailable);
  EXPECT_EQ(recorder.lines.size(), 3u);
}

}  // namespace
}  // namespace berth
