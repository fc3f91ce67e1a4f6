#include "bench/card/check_fixtures.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <span>

#include "bench/card/check_step.h"

namespace berth::bench {

using berth::testing::SafetensorsFixture;
using kernels::Format;
using kernels::testing::DoubleComparison;
using kernels::testing::DoubleError;
using kernels::testing::FixtureModel;
using kernels::testing::GoldenLayer;
using kernels::testing::Layer;

namespace {

// Of the root mean square of what was wanted. Activations in 8 bits, or in BF16 where units are
// wide, cost some thousandths and no computation with them can do without; sums in F32 do.
constexpr double kMostError = 2.5e-2;
constexpr double kLeastError = 1e-4;
constexpr double kMostErrorOfFloats = 1e-5;

constexpr uint32_t kExperts = 4;  // one more than a row's
constexpr uint32_t kTopK = 3;
constexpr uint32_t kHidden = 512, kFfn = 256;
// Pairs that are compared with double precision, which takes the host long.
constexpr uint32_t kReferencePairs = 24;

bool EightBits(const Layer& layer) {
  return kernels::FindFormat(layer.spec.up.type)->unpack != nullptr;
}

class Fixtures {
 public:
  Fixtures(const CardInfo& card, const FixtureOptions& options) : card_(card), options_(options) {}

  Result<std::vector<FixtureResult>> Run() {
    const SafetensorsFixture golden(options_.folder + "/golden-blocks.safetensors");
    for (const Format& format : kernels::Formats()) {
      const auto& types = options_.types;
      if (!types.empty() && std::find(types.begin(), types.end(), format.name) == types.end()) {
        continue;
      }
      const GoldenLayer layer(golden, format, kExperts, kHidden, kFfn);
      BERTH_RETURN_IF_ERROR(CheckGolden(std::string(format.name), layer).Annotate(format.name));
    }
    const std::string qwen = options_.folder + "/tiny-qwen-like";
    if (std::filesystem::exists(qwen + ".ffn.safetensors")) BERTH_RETURN_IF_ERROR(CheckQwen(qwen));
    return std::move(results_);
  }

 private:
  Result<StepRunner> Runner(const Layer& layer, uint32_t rows, uint32_t top_k,
                            uint32_t exact_rows) const {
    kernels::Arithmetic arithmetic;
    arithmetic.exact_rows = exact_rows;
    return StepRunner::Create(
        card_, {layer.spec.hidden, layer.spec.ffn, rows, rows * top_k, layer.spec.experts},
        arithmetic);
  }

  Status CheckGolden(const std::string& name, const GoldenLayer& golden) {
    const uint32_t most = *std::max_element(options_.rows.begin(), options_.rows.end());
    BERTH_ASSIGN_OR_RETURN(StepRunner runner,
                           Runner(golden.layer, most, kTopK, options_.exact_rows));
    BERTH_ASSIGN_OR_RETURN(PlacedLayer placed, PlacedLayer::Place(runner.stream(), golden.layer));
    for (const uint32_t rows : options_.rows) {
      const StepInputs inputs = FullStep(golden.layer.spec, rows, kTopK);
      std::vector<uint32_t> pairs;
      const uint32_t step = std::max(1u, inputs.pairs() / kReferencePairs) | 1;
      for (uint32_t pair = 0; pair < inputs.pairs(); pair += step) pairs.push_back(pair);
      std::vector<double> want;
      for (const uint32_t pair : pairs) Reference(golden, inputs, pair, &want);
      const auto compare = [&](const StepOutputs& got) {
        return PartialsAgainst(got, pairs, golden.layer.spec.hidden, want);
      };
      BERTH_RETURN_IF_ERROR(RunBoth(name, golden.layer, inputs, &runner, &placed, compare));
      Prove(golden.layer, want);
    }
    return Status();
  }

  static void Reference(const GoldenLayer& golden, const StepInputs& inputs, uint32_t pair,
                        std::vector<double>* want) {
    const auto expert = static_cast<uint32_t>(inputs.ids[pair]);
    const uint32_t hidden = golden.layer.spec.hidden;
    const std::span<const float> x(&inputs.x[uint64_t{pair / inputs.top_k} * hidden], hidden);
    const std::vector<double> y =
        kernels::testing::ReferenceExpert(golden.layer.spec, golden.units[expert], expert, x,
                                          static_cast<double>(inputs.weights[pair]));
    want->insert(want->end(), y.begin(), y.end());
  }

  static DoubleError PartialsAgainst(const StepOutputs& got, const std::vector<uint32_t>& pairs,
                                     uint32_t hidden, const std::vector<double>& want) {
    DoubleComparison comparison;
    for (size_t i = 0; i < want.size(); ++i) {
      comparison.Add(got.partials[uint64_t{pairs[i / hidden]} * hidden + i % hidden], want[i]);
    }
    return comparison.error();
  }

  // Layers of a model, with the weighted sums that were published with it.
  Status CheckQwen(const std::string& prefix) {
    FixtureModel model;
    for (const char* shard : {"-00002-of-00003.gguf", "-00003-of-00003.gguf"}) {
      model.Load(prefix + shard);
    }
    const SafetensorsFixture ffn(prefix + ".ffn.safetensors");
    BERTH_ASSIGN_OR_RETURN(const auto conventions, kernels::ConventionsOf("qwen3moe"));
    for (uint32_t block = 1; ffn.Has("layer" + std::to_string(block) + ".y"); ++block) {
      const Layer layer = model.LoadLayer(block, conventions);
      const std::string of = "layer" + std::to_string(block) + ".";
      StepInputs inputs;
      inputs.x = ffn.Get<float>("x");
      inputs.ids = ffn.Get<int32_t>(of + "expert_ids");
      inputs.weights = ffn.Get<float>(of + "expert_weights");
      inputs.rows = static_cast<uint32_t>(inputs.x.size() / layer.spec.hidden);
      inputs.top_k = static_cast<uint32_t>(inputs.ids.size()) / inputs.rows;
      const auto want = ffn.Get<float>(of + "y");
      const auto compare = [&](const StepOutputs& got) {
        DoubleComparison comparison;
        for (size_t i = 0; i < want.size(); ++i) comparison.Add(got.y[i], want[i]);
        return comparison.error();
      };
      for (const uint32_t exact_rows : {inputs.rows, 0u}) {
        BERTH_ASSIGN_OR_RETURN(StepRunner runner,
                               Runner(layer, inputs.rows, inputs.top_k, exact_rows));
        BERTH_ASSIGN_OR_RETURN(PlacedLayer placed, PlacedLayer::Place(runner.stream(), layer));
        BERTH_RETURN_IF_ERROR(RunBoth("tiny-qwen-like " + std::to_string(block), layer, inputs,
                                      &runner, &placed, compare));
      }
    }
    return Status();
  }

  // The tuned kernels and the plain one, over poisoned outputs.
  template <typename Compare>
  Status RunBoth(const std::string& name, const Layer& layer, const StepInputs& inputs,
                 StepRunner* runner, PlacedLayer* placed, const Compare& compare) {
    const std::vector<uint32_t> rows = inputs.RowsOfExperts(layer.spec.experts);
    for (const bool tuned : {true, false}) {
      RunPlan plan = {tuned ? "tuned" : "plain", tuned};
      BERTH_ASSIGN_OR_RETURN(const StepOutputs got, runner->Run(placed, inputs, plan));
      FixtureResult result;
      result.name = name;
      result.kernel = plan.name;
      result.rows = *std::max_element(rows.begin(), rows.end());
      result.exact = runner->arithmetic().IsExact(result.rows);
      result.error = compare(got);
      result.fault = FaultOf(result.error, EightBits(layer));
      results_.push_back(std::move(result));
    }
    return Status();
  }

  // What has to be refused: the reference itself, the reference as floats, and it in another order.
  void Prove(const Layer& layer, const std::vector<double>& want) {
    DoubleComparison same, rounded, moved;
    for (size_t i = 0; i < want.size(); ++i) {
      same.Add(want[i], want[i]);
      rounded.Add(static_cast<float>(want[i]), want[i]);
      moved.Add(want[(i + 1) % want.size()], want[i]);
    }
    const bool eight_bits = EightBits(layer);
    std::string& fault = results_.back().fault;
    if (FaultOf(same.error(), eight_bits).empty()) fault += " the reference itself passes";
    if (eight_bits && FaultOf(rounded.error(), true).empty()) fault += " the reference passes";
    if (FaultOf(moved.error(), eight_bits).empty()) fault += " outputs of other places pass";
  }

  const CardInfo& card_;
  const FixtureOptions& options_;
  std::vector<FixtureResult> results_;
};

}  // namespace

std::string FaultOf(const DoubleError& error, bool eight_bits) {
  const double most = eight_bits ? kMostError : kMostErrorOfFloats;
  const double least = eight_bits ? kLeastError : 0;
  const std::string percent = std::to_string(100 * error.rms) + " %";
  if (error.rms == 0) return "no error at all against double precision: nothing was computed";
  if (error.rms < least) {
    return "an error of " + percent + " is less than activations in few bits can have";
  }
  if (!(error.rms <= most)) return "error of " + percent + " against double precision";
  return "";
}

Result<std::vector<FixtureResult>> CheckFixtures(const CardInfo& card,
                                                 const FixtureOptions& options) {
  try {
    return Fixtures(card, options).Run();
  } catch (const std::exception& error) {  // of the readers of fixtures
    return NotFoundError(options.folder + ": " + error.what());
  }
}

}  // namespace berth::bench
