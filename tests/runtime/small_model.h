// What the tests of runs and sessions share: a small model in every form, traces for it, and runs
// with the checks that hold for all of them.
#ifndef BERTH_TESTS_RUNTIME_SMALL_MODEL_H_
#define BERTH_TESTS_RUNTIME_SMALL_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/runtime.h"
#include "io/storage/fault_plan.h"
#include "runtime/engine/engine.h"
#include "runtime/run/runner.h"
#include "tests/temporary_directory.h"

namespace berth::testing {

inline constexpr uint32_t kLayers = 4;
inline constexpr uint32_t kExperts = 24;
inline constexpr uint32_t kTopK = 4;
inline constexpr uint32_t kHidden = 256;
// Layers 0 and 1 are one size class, 2 and 3 the other.
inline constexpr char kTypes[] = "iq3_s+iq4_nl,iq2_s+q2_0";
// No trace routes to this expert, in any layer.
inline constexpr int32_t kUnusedExpert = kExperts - 1;

struct TraceShape {
  uint64_t seed = 1;
  bool pass_rows = true;  // prompts of 9 and 7 rows, then single rows; else all single
  bool weights = true;
  uint32_t layers = kLayers;
  uint32_t experts = kExperts;
  uint32_t top_k = kTopK;
};
void WriteTrace(const std::string& path, const TraceShape& shape);

// The files, made once for a test program.
class SmallModel {
 public:
  static const SmallModel& Get();

  std::string gguf;            // one file
  std::string split;           // the same tensors in three shards
  std::string pack;            // of `gguf`
  std::string one_class;       // all layers alike
  std::string trace;           // states its passes
  std::string plain_trace;     // does not, for --streams and --window
  uint64_t minimum_arena = 0;  // of a card, from the message that refuses less

  std::string File(const std::string& name) const { return directory_ / name; }

 private:
  SmallModel();
  TemporaryDirectory directory_;
};

// `model` with everything resident on one card.
RunOptions Resident(const std::string& model);
// The same with the smallest arena that is accepted.
RunOptions Tight(const std::string& model);
// Sets the number of cards, each like the first.
void SetCards(uint32_t cards, RuntimeOptions* options);
EngineHooks Faulty(const io::FaultPlan& plan);
Result<std::unique_ptr<Runtime>> OpenRuntime(const RuntimeOptions& options,
                                             const EngineHooks& hooks = EngineHooks());
// The way a run opens its runtime, over a storage with these faults.
std::function<Result<std::unique_ptr<Runtime>>(const RuntimeOptions&)> OpenOver(
    const io::FaultPlan& plan);

// Runs, and checks what every good run keeps.
std::optional<RunReport> Good(const RunOptions& options);

// The number after "at least " in a message; 0 where there is none.
uint64_t AtLeast(std::string_view message);

// x of a row of a layer, as `run` makes it.
std::vector<float> Inputs(uint32_t rows, uint32_t layer, uint64_t seed = 1);

}  // namespace berth::testing

#endif  // BERTH_TESTS_RUNTIME_SMALL_MODEL_H_
