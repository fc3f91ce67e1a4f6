#include "tests/runtime/small_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "io/storage/fault_storage.h"
#include "runtime/base/check.h"
#include "runtime/pack/make_model.h"
#include "runtime/pack/pack.h"
#include "runtime/run/inputs.h"
#include "scheduler/counters.h"
#include "tests/runtime/trace_builder.h"

namespace berth::testing {
namespace {

uint64_t Draw(uint64_t* state) { return ScatterBits((*state)++); }

void MustMake(const std::string& output, uint32_t files, const std::string& types) {
  models::MakeModelOptions options;
  options.output = output;
  options.types = types;
  options.layers = kLayers;
  options.dense_layers = 1;
  options.experts = kExperts;
  options.top_k = kTopK;
  options.hidden = kHidden;
  options.ffn = 64;
  options.files = files;
  const auto made = models::MakeModel(options, nullptr);
  BERTH_CHECK_MSG(made.ok(), made.status().ToString().c_str());
}

// Some experts are asked for often, most now and then, kUnusedExpert never.
std::vector<uint8_t> Routing(const TraceShape& shape, uint32_t rows) {
  std::vector<uint8_t> ids;
  uint64_t state = shape.seed * 1000;
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
      const size_t first = ids.size();
      while (ids.size() < first + shape.top_k) {
        const uint64_t draw = Draw(&state);
        // Nobody: now and then an entry, and the whole of one row of layer 1.
        if (draw % 19 == 0 || (row == 11 && layer == 1)) {
          ids.push_back(255);
          continue;
        }
        const uint64_t most = (draw >> 8) % 3 == 0 ? shape.experts - 1 : shape.experts / 3;
        const auto id = static_cast<uint8_t>((draw >> 20) % most);
        if (std::find(ids.begin() + static_cast<ptrdiff_t>(first), ids.end(), id) == ids.end()) {
          ids.push_back(id);
        }
      }
    }
  }
  return ids;
}

}  // namespace

void WriteTrace(const std::string& path, const TraceShape& shape) {
  const std::vector<int32_t> request_rows = {15, 1, 12};
  const uint32_t rows = 28;
  TraceBuilder builder;
  builder.metadata = {{"format", "moe-routing-trace/1"},
                      {"layers", std::to_string(shape.layers)},
                      {"experts", std::to_string(shape.experts)},
                      {"top_k", std::to_string(shape.top_k)},
                      {"none", "255"}};
  builder.Set<int32_t>("request_rows", io::SafetensorsType::kI32, {3}, request_rows);
  if (shape.pass_rows) {
    const std::vector<int32_t> passes = {9, 1, 1, 1, 1, 1, 1, 1, 7, 1, 1, 1, 1, 1};
    builder.Set<int32_t>("pass_rows", io::SafetensorsType::kI32, {passes.size()}, passes);
  }
  builder.Set<uint8_t>("experts", io::SafetensorsType::kU8, {rows, shape.layers, shape.top_k},
                       Routing(shape, rows));
  if (shape.weights) {
    std::vector<float> weights(size_t{rows} * shape.layers * shape.top_k);
    uint64_t state = shape.seed;
    for (float& weight : weights) {
      weight = static_cast<float>(Draw(&state) >> 40) * 0x1p-24f;
    }
    builder.Set<float>("router_weights", io::SafetensorsType::kF32,
                       {rows, shape.layers, shape.top_k}, weights);
  }
  builder.Write(path);
}

const SmallModel& SmallModel::Get() {
  static const SmallModel model;
  return model;
}

SmallModel::SmallModel() {
  gguf = File("m.gguf");
  MustMake(gguf, 1, kTypes);
  MustMake(File("s"), 3, kTypes);
  split = File("s-00001-of-00003.gguf");
  one_class = File("one.gguf");
  MustMake(one_class, 1, "q4_K+q5_0");
  pack = File("pack.gguf");
  models::PackOptions options;
  options.model = gguf;
  options.output = pack;
  const auto packed = models::PackModel(options, nullptr);
  BERTH_CHECK_MSG(packed.ok(), packed.status().ToString().c_str());
  trace = File("t.safetensors");
  WriteTrace(trace, {});
  plain_trace = File("plain.safetensors");
  WriteTrace(plain_trace, {.seed = 2, .pass_rows = false, .weights = false});

  RuntimeOptions too_small;
  too_small.model = gguf;
  too_small.cards[0].arena_bytes = 1;
  const auto refused = OpenRuntime(too_small);
  BERTH_CHECK(!refused.ok());
  minimum_arena = AtLeast(refused.status().message());
}

RunOptions Resident(const std::string& model) {
  RunOptions options;
  options.runtime.model = model;
  options.runtime.cards[0].arena_bytes = 64u << 20;
  options.runtime.threads = 2;
  options.trace = SmallModel::Get().trace;
  return options;
}

RunOptions Tight(const std::string& model) {
  RunOptions options = Resident(model);
  options.runtime.cards[0].arena_bytes = SmallModel::Get().minimum_arena;
  options.runtime.chunk = 2;
  return options;
}

void SetCards(uint32_t cards, RuntimeOptions* options) {
  options->cards.resize(1);
  for (uint32_t c = 1; c < cards; ++c) {
    options->cards.push_back(options->cards[0]);
    options->cards[c].device = "host:" + std::to_string(c);
  }
}

EngineHooks Faulty(const io::FaultPlan& plan) {
  EngineHooks hooks;
  hooks.open_storage =
      [plan](const io::StorageOptions& options) -> Result<std::unique_ptr<io::Storage>> {
    BERTH_ASSIGN_OR_RETURN(std::unique_ptr<io::FaultStorage> storage,
                           io::FaultStorage::Open(plan, options));
    return std::unique_ptr<io::Storage>(std::move(storage));
  };
  return hooks;
}

Result<std::unique_ptr<Runtime>> OpenRuntime(const RuntimeOptions& options,
                                             const EngineHooks& hooks) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Open(options, hooks));
  return std::make_unique<Runtime>(std::move(engine));
}

std::function<Result<std::unique_ptr<Runtime>>(const RuntimeOptions&)> OpenOver(
    const io::FaultPlan& plan) {
  return [plan](const RuntimeOptions& options) { return OpenRuntime(options, Faulty(plan)); };
}

std::optional<RunReport> Good(const RunOptions& options) {
  Result<RunReport> report = RunTrace(options);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  if (!report.ok()) return std::nullopt;
  EXPECT_EQ(report->failed_steps, 0u) << report->first_failure.ToString();
  EXPECT_TRUE(report->output_hash.has_value());
  const Status balance = scheduler::CheckBalance(report->stats.counters);
  EXPECT_TRUE(balance.ok()) << balance.ToString();
  return std::move(report).value();
}

uint64_t AtLeast(std::string_view message) {
  const size_t at = message.find("at least ");
  return at == message.npos
             ? 0
             : std::strtoull(std::string(message.substr(at + 9)).c_str(), nullptr, 10);
}

std::vector<float> Inputs(uint32_t rows, uint32_t layer, uint64_t seed) {
  std::vector<float> x(size_t{rows} * kHidden);
  for (uint32_t row = 0; row < rows; ++row) {
    FillInput(seed, row, layer, kHidden, &x[size_t{row} * kHidden]);
  }
  return x;
}

}  // namespace berth::testing
