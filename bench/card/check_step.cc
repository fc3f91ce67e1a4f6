#include "bench/card/check_step.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/expert/host_expert.h"

namespace berth::bench {

using kernels::ExpertSpec;
using kernels::WaveUnit;
using kernels::testing::Grouping;
using kernels::testing::RandomValues;

namespace {

constexpr uint64_t kGuard = 256;  // floats on either side
constexpr uint32_t kPoison = 0xFFFFFFFF;

StepInputs Inputs(const ExpertSpec& spec, uint32_t rows, uint32_t top_k) {
  StepInputs inputs;
  inputs.rows = rows;
  inputs.top_k = top_k;
  inputs.x = RandomValues(5, uint64_t{rows} * spec.hidden);
  inputs.weights = RandomValues(7, uint64_t{rows} * top_k);
  for (float& weight : inputs.weights) weight = 0.5f + 0.25f * weight;
  return inputs;
}

std::vector<float> Poisoned(uint64_t count) {
  std::vector<float> floats(count);
  std::memset(floats.data(), 0xFF, count * sizeof(float));
  return floats;
}

bool IsPoison(const float& value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits == kPoison;
}

}  // namespace

std::vector<uint32_t> StepInputs::RowsOfExperts(uint32_t experts) const {
  std::vector<uint32_t> count(experts);
  for (const int32_t id : ids) {
    if (id >= 0) ++count[static_cast<uint32_t>(id)];
  }
  return count;
}

StepInputs FullStep(const ExpertSpec& spec, uint32_t rows, uint32_t top_k) {
  StepInputs inputs = Inputs(spec, rows, top_k);
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t k = 0; k < top_k; ++k) {
      inputs.ids.push_back(static_cast<int32_t>((row + k) % top_k));
    }
  }
  return inputs;
}

StepInputs MixedStep(const ExpertSpec& spec, uint32_t rows, uint32_t top_k) {
  StepInputs inputs = Inputs(spec, rows, top_k);
  for (uint32_t row = 0; row < rows; ++row) {
    // Expert e is in every (e + 1)th row at most; who finds none routes to nobody.
    uint32_t expert = 0;
    for (uint32_t k = 0; k < top_k; ++k) {
      while (expert < spec.experts && row % (expert + 1) != 0) ++expert;
      inputs.ids.push_back(expert < spec.experts ? static_cast<int32_t>(expert++) : kNoExpert);
    }
  }
  return inputs;
}

Result<StepOutputs> HostStep(const kernels::testing::Layer& layer, const StepInputs& inputs) {
  const ExpertSpec& spec = layer.spec;
  const Grouping grouping = kernels::testing::GroupBackwards(inputs.ids, layer);
  StepOutputs to;
  to.partials = Poisoned(uint64_t{inputs.pairs()} * spec.hidden);
  kernels::testing::TestPool pool(1);
  kernels::HostMath math;
  math.arithmetic.exact_rows = kernels::kMostExactRows;
  kernels::HostExpertWorkspace workspace(&pool, spec.hidden, spec.ffn, inputs.pairs(), math);
  kernels::GroupedCall call;
  call.spec = &spec;
  call.units = grouping.units.data();
  call.unit_count = static_cast<uint32_t>(grouping.units.size());
  call.pairs = grouping.pairs.data();
  call.top_k = inputs.top_k;
  call.x = inputs.x.data();
  call.weights = inputs.weights.data();
  call.partials = to.partials.data();
  BERTH_RETURN_IF_ERROR(workspace.Run(call, grouping.addresses));
  to.y = HostSum(spec, inputs, to.partials);
  return to;
}

std::vector<float> HostSum(const ExpertSpec& spec, const StepInputs& inputs,
                           const std::vector<float>& partials) {
  std::vector<float> y = Poisoned(uint64_t{inputs.rows} * spec.hidden);
  kernels::ReduceCall call;
  call.rows = inputs.rows;
  call.top_k = inputs.top_k;
  call.hidden = spec.hidden;
  call.partials = partials.data();
  call.weights = inputs.weights.data();
  call.ids = inputs.ids.data();
  call.weights_before = spec.conventions.weights_before;
  call.y = y.data();
  call.y_stride = spec.hidden;
  kernels::HostReduce(call);
  return y;
}

float* StepRunner::Guarded::data() const { return memory.as<float>() + kGuard; }

Result<StepRunner> StepRunner::Create(const CardInfo& card, const kernels::gpu::ExpertSizes& sizes,
                                      const kernels::Arithmetic& arithmetic) {
  StepRunner runner;
  BERTH_ASSIGN_OR_RETURN(runner.stream_, CardStream::Create());
  const uint64_t bytes = kernels::gpu::ExpertWorkspaceBytes(sizes);
  BERTH_ASSIGN_OR_RETURN(runner.workspace_,
                         CardMemory::Allocate(bytes + kGuard * sizeof(float), "workspace"));
  BERTH_RETURN_IF_ERROR(runner.stream_.Fill(runner.workspace_.data(), 0, bytes));
  BERTH_RETURN_IF_ERROR(
      runner.stream_.Fill(runner.workspace_.data() + bytes, 0xFF, kGuard * sizeof(float)));
  BERTH_ASSIGN_OR_RETURN(runner.failed_, CardMemory::Allocate(sizeof(uint32_t), "failed unit"));
  runner.launcher_.sizes = sizes;
  runner.launcher_.workspace = runner.workspace_.data();
  runner.launcher_.arithmetic = arithmetic;
  runner.launcher_.processors = card.processors;
  return runner;
}

Status StepRunner::Poison(Guarded* to, uint64_t count) {
  to->count = count;
  const uint64_t bytes = (count + 2 * kGuard) * sizeof(float);
  if (to->memory.bytes() < bytes) {
    BERTH_ASSIGN_OR_RETURN(to->memory, CardMemory::Allocate(bytes, "outputs"));
  }
  return stream_.Fill(to->memory.data(), 0xFF, bytes);
}

Result<std::vector<float>> StepRunner::Fetch(const Guarded& from, const char* what) {
  std::vector<float> all(from.count + 2 * kGuard);
  BERTH_RETURN_IF_ERROR(stream_.ToHost(all.data(), from.memory.data(), all.size() * sizeof(float)));
  const auto end = all.begin() + static_cast<ptrdiff_t>(kGuard + from.count);
  if (!std::all_of(all.begin(), all.begin() + kGuard, IsPoison) ||
      !std::all_of(end, all.end(), IsPoison)) {
    return InternalError(std::string("a kernel wrote outside the ") + what);
  }
  return std::vector<float>(all.begin() + kGuard, end);
}

Status StepRunner::CheckWorkspace() {
  std::vector<float> guard(kGuard);
  BERTH_RETURN_IF_ERROR(
      stream_.ToHost(guard.data(), workspace_.data() + workspace_.bytes() - kGuard * sizeof(float),
                     kGuard * sizeof(float)));
  if (std::all_of(guard.begin(), guard.end(), IsPoison)) return Status();
  return InternalError("a kernel wrote behind its workspace");
}

Result<StepOutputs> StepRunner::Run(PlacedLayer* layer, const StepInputs& inputs,
                                    const RunPlan& plan, uint32_t* failed_unit) {
  const ExpertSpec& spec = layer->spec();
  BERTH_ASSIGN_OR_RETURN(x_, Upload(stream_, inputs.x, "rows"));
  BERTH_ASSIGN_OR_RETURN(weights_, Upload(stream_, inputs.weights, "router weights"));
  BERTH_ASSIGN_OR_RETURN(ids_, Upload(stream_, inputs.ids, "router ids"));
  BERTH_RETURN_IF_ERROR(Poison(&partials_, uint64_t{inputs.pairs()} * spec.hidden));
  BERTH_RETURN_IF_ERROR(Poison(&y_, uint64_t{inputs.rows} * spec.hidden));
  BERTH_RETURN_IF_ERROR(stream_.Fill(failed_.data(), 0, sizeof(uint32_t)));
  const bool missing = plan.missing_expert < spec.experts;
  if (missing) {
    BERTH_RETURN_IF_ERROR(layer->SetPublished(stream_, plan.missing_expert, false));
  }
  BERTH_RETURN_IF_ERROR(Launch(*layer, inputs, plan));
  BERTH_RETURN_IF_ERROR(stream_.Synchronize());
  if (missing) BERTH_RETURN_IF_ERROR(layer->SetPublished(stream_, plan.missing_expert, true));
  uint32_t failed = 0;
  BERTH_RETURN_IF_ERROR(stream_.ToHost(&failed, failed_.data(), sizeof(failed)));
  if (failed_unit != nullptr) *failed_unit = failed;
  if (failed != 0 && failed_unit == nullptr) {
    return InternalError("no address was found for unit " + std::to_string(failed - 1));
  }
  StepOutputs to;
  BERTH_ASSIGN_OR_RETURN(to.partials, Fetch(partials_, "partial results"));
  BERTH_ASSIGN_OR_RETURN(to.y, Fetch(y_, "weighted sums"));
  BERTH_RETURN_IF_ERROR(CheckWorkspace());
  return to;
}

Status StepRunner::Launch(const PlacedLayer& layer, const StepInputs& inputs, const RunPlan& plan) {
  kernels::gpu::CardCall call;
  call.layer = layer.card_layer();
  call.rows = inputs.rows;
  call.top_k = inputs.top_k;
  call.x = x_.as<const float>();
  call.weights = weights_.as<const float>();
  call.table = layer.table();
  call.partials = partials_.data();
  call.failed_unit = failed_.as<uint32_t>();
  call.kernel = plan.kernel;
  launcher_.dispatch.tuned = plan.tuned;
  if (plan.chunk > 0) return LaunchWaves(layer, inputs, plan, call);
  call.ids = ids_.as<const int32_t>();
  call.first_unit = PlacedLayer::kFirstUnit;
  call.y = y_.data();
  return kernels::gpu::LaunchExperts(launcher_, call, stream_.get());
}

Status StepRunner::LaunchWaves(const PlacedLayer& layer, const StepInputs& inputs,
                               const RunPlan& plan, kernels::gpu::CardCall call) {
  Grouping grouping = kernels::testing::GroupBackwards(inputs.ids, layer.host());
  for (size_t i = 0; i < grouping.units.size(); ++i) {
    WaveUnit& unit = grouping.units[i];
    const Home home = plan.homes.empty() ? Home::kArena : plan.homes[i % plan.homes.size()];
    layer.Locate(unit.expert, home, &unit);
  }
  const uint64_t units_bytes = grouping.units.size() * sizeof(WaveUnit);
  const uint64_t pairs_bytes = grouping.pairs.size() * sizeof(uint32_t);
  // As the backend has them: in host memory that the card reads.
  BERTH_ASSIGN_OR_RETURN(waves_, CardMemory::AllocateMapped(units_bytes + pairs_bytes, "waves"));
  std::memcpy(waves_.host(), grouping.units.data(), units_bytes);
  std::memcpy(waves_.host() + units_bytes, grouping.pairs.data(), pairs_bytes);
  call.pairs = reinterpret_cast<const uint32_t*>(waves_.data() + units_bytes);
  const auto count = static_cast<uint32_t>(grouping.units.size());
  for (uint32_t first = 0; first < count; first += plan.chunk) {
    call.units = waves_.as<const WaveUnit>() + first;
    call.unit_count = std::min(plan.chunk, count - first);
    BERTH_RETURN_IF_ERROR(kernels::gpu::LaunchExperts(launcher_, call, stream_.get()));
  }
  kernels::ReduceCall sum;
  sum.rows = inputs.rows;
  sum.top_k = inputs.top_k;
  sum.hidden = layer.spec().hidden;
  sum.partials = call.partials;
  sum.weights = call.weights;
  sum.ids = ids_.as<const int32_t>();
  sum.weights_before = layer.spec().conventions.weights_before;
  sum.y = y_.data();
  sum.y_stride = sum.hidden;
  return kernels::gpu::LaunchReduce(sum, stream_.get());
}

}  // namespace berth::bench
