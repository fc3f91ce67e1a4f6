#include "tests/kernels/gpu/card_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/expert/host_expert.h"
#include "kernels/gpu/expert_workspace.h"
#include "runtime/base/math.h"

namespace berth::kernels::gpu::testing {
namespace {

// The units of other layers come before this one's.
constexpr UnitIndex kFirstUnit = 3;

ExpertSizes SizesOf(const Layer& layer, uint32_t rows, uint32_t top_k) {
  // One more than needed: strides must not come from what the workspace was made for.
  return {layer.spec.hidden + 32, layer.spec.ffn + 32, rows + 1, (rows + 1) * top_k,
          layer.spec.experts + 1};
}

std::unique_ptr<std::byte, void (*)(void*)> Allocate(size_t bytes) {
  auto* const memory = static_cast<std::byte*>(
      std::aligned_alloc(kCardAlign, std::max<size_t>(AlignUp(bytes, kCardAlign), kCardAlign)));
  return {memory, &std::free};
}

CardLayer CardLayerOf(const ExpertSpec& spec) {
  const auto siblings = [](const SiblingSpec& from) {
    CardSiblings to;
    if (!from.bias.empty()) to.bias = from.bias.data();
    if (!from.scale.empty()) to.scale = from.scale.data();
    return to;
  };
  return {&spec, siblings(spec.gate_sibling), siblings(spec.up_sibling),
          siblings(spec.down_sibling)};
}

}  // namespace

CardStep::CardStep(const Layer& layer, uint32_t rows, uint32_t top_k)
    : RoutedRows(layer, rows, top_k),
      layer_(layer),
      rows_(rows),
      top_k_(top_k),
      workspace_(nullptr, &std::free) {
  const uint64_t bytes = ExpertWorkspaceBytes(SizesOf(layer, rows, top_k));
  workspace_ = Allocate(bytes);
  std::memset(workspace_.get(), 0, bytes);
}

std::vector<float> CardStep::Poison(size_t count) const {
  return std::vector<float>(count, std::numeric_limits<float>::quiet_NaN());
}

void CardStep::Reduce(Outputs* outputs) const {
  ReduceCall call;
  call.rows = rows_;
  call.top_k = top_k_;
  call.hidden = layer_.spec.hidden;
  call.partials = outputs->partials.data();
  call.weights = weights.data();
  call.ids = ids.data();
  call.weights_before = layer_.spec.conventions.weights_before;
  call.y = outputs->y.data();
  call.y_stride = layer_.spec.hidden;
  HostReduce(call);
}

void CardStep::SpoilWorkspace() {
  const ExpertSizes sizes = SizesOf(layer_, rows_, top_k_);
  const ExpertWorkspace workspace(sizes, workspace_.get());
  // Behind the counters.
  auto* const from = reinterpret_cast<std::byte*>(workspace.list.unit_count);
  std::memset(from, 0xff, static_cast<size_t>(workspace_.get() + workspace.bytes - from));
}

Outputs CardStep::RunHost() const {
  const ExpertSpec& spec = layer_.spec;
  const kernels::testing::Grouping grouping = kernels::testing::GroupBackwards(ids, layer_);
  Outputs to = {Poison(uint64_t{rows_} * top_k_ * spec.hidden),
                Poison(uint64_t{rows_} * spec.hidden)};
  kernels::testing::TestPool pool(1);
  HostExpertWorkspace workspace(&pool, spec.hidden, spec.ffn, rows_ * top_k_,
                                {{ArithmeticMode::kExact, kMostExactRows}, Isa::kScalar});
  GroupedCall call;
  call.spec = &spec;
  call.units = grouping.units.data();
  call.unit_count = static_cast<uint32_t>(grouping.units.size());
  call.pairs = grouping.pairs.data();
  call.top_k = top_k_;
  call.x = x.data();
  call.weights = weights.data();
  call.partials = to.partials.data();
  const Status ran = workspace.Run(call, grouping.addresses);
  EXPECT_TRUE(ran.ok()) << ran.message();
  Reduce(&to);
  return to;
}

Outputs CardStep::RunCard(bool wave) {
  const ExpertSpec& spec = layer_.spec;
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> units;
  std::vector<const std::byte*> table(kFirstUnit, nullptr);
  for (const std::vector<std::byte>& unit : layer_.units) {
    units.push_back(Allocate(unit.size() + misalignment));
    std::memcpy(units.back().get() + misalignment, unit.data(), unit.size());
    table.push_back(units.back().get() + misalignment);
  }
  for (const uint32_t expert : missing) table[kFirstUnit + expert] = nullptr;
  Outputs to = {Poison(uint64_t{rows_} * top_k_ * spec.hidden),
                Poison(uint64_t{rows_} * spec.hidden)};
  kernels::testing::Grouping grouping = kernels::testing::GroupBackwards(ids, layer_);
  for (size_t i = 0; i < grouping.units.size(); ++i) {
    WaveUnit& unit = grouping.units[i];
    unit.unit += kFirstUnit;
    // Every other unit brings its address, and lies elsewhere than the spec says.
    if (i % 2 == 0 || table[unit.unit] == nullptr) continue;
    unit.address = table[unit.unit] - 40;
    unit.shifts = {40, 40, 40};
    table[unit.unit] = nullptr;
  }
  std::vector<float> inputs(input_offset, 0.0f);
  inputs.insert(inputs.end(), x.begin(), x.end());
  CardCall call;
  call.layer = CardLayerOf(spec);
  call.rows = rows_;
  call.top_k = top_k_;
  call.x = inputs.data() + input_offset;
  call.weights = weights.data();
  call.table = table.data();
  call.partials = to.partials.data();
  call.failed_unit = &failed_unit;
  call.kernel = kernel;
  if (wave) {
    call.units = grouping.units.data();
    call.unit_count = static_cast<uint32_t>(grouping.units.size());
    call.pairs = grouping.pairs.data();
  } else {
    for (const WaveUnit& unit : grouping.units) {
      if (unit.address != nullptr) table[unit.unit] = unit.address + 40;
    }
    call.ids = ids.data();
    call.first_unit = kFirstUnit;
    call.y = to.y.data();
  }
  ExpertLauncher launcher;
  launcher.sizes = SizesOf(layer_, rows_, top_k_);
  launcher.workspace = workspace_.get();
  launcher.dispatch = dispatch;
  launcher.arithmetic.exact_rows = exact_rows;
  launcher.processors = processors != 0 ? processors : 1 + rows_ % 2;
  const Status launched = LaunchExperts(launcher, call, nullptr, &ran);
  EXPECT_TRUE(launched.ok()) << launched.message();
  if (wave) Reduce(&to);
  return to;
}

}  // namespace berth::kernels::gpu::testing
