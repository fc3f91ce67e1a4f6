#include "runtime/curve/pools.h"

#include <algorithm>

#include "arena/arena_plan.h"
#include "berth/types.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/base/quota.h"

namespace berth::curve {
namespace {

// More than any model has, and what a policy takes.
constexpr uint64_t kMostUnits = 1u << 24;
constexpr uint64_t kMostUnitBytes = uint64_t{1} << 38;

// Of every layer; zeros where nobody knows.
Result<std::vector<uint64_t>> UnitBytes(const TraceInfo& trace,
                                        std::span<const uint64_t> unit_bytes) {
  const bool stated = unit_bytes.empty();
  if (stated) unit_bytes = trace.layer_unit_bytes;
  if (unit_bytes.empty()) return std::vector<uint64_t>(trace.layers, 0);
  if (unit_bytes.size() != 1 && unit_bytes.size() != trace.layers) {
    return InvalidArgumentError("--unit-bytes: " + FormatCount(unit_bytes.size()) + " values for " +
                                FormatCount(trace.layers) +
                                " layers: give one, or one for each layer");
  }
  for (const uint64_t each : unit_bytes) {
    if ((each > 0 || stated) && each <= kMostUnitBytes) continue;
    return InvalidArgumentError("a unit of " + FormatBytes(each) + ": expected " + "1 byte to " +
                                FormatBytes(kMostUnitBytes));
  }
  if (unit_bytes.size() == 1) return std::vector<uint64_t>(trace.layers, unit_bytes.front());
  return std::vector<uint64_t>(unit_bytes.begin(), unit_bytes.end());
}

// Classes in order of their first layers.
std::vector<SizeClass> MakeClasses(const TraceInfo& trace, const std::vector<uint64_t>& bytes,
                                   Scope scope) {
  std::vector<SizeClass> classes;
  for (uint32_t layer = 0; layer < trace.layers; ++layer) {
    auto fits = std::find_if(classes.begin(), classes.end(), [&](const SizeClass& c) {
      return scope == Scope::kGlobal || c.unit_bytes == bytes[layer];
    });
    if (fits == classes.end()) fits = classes.emplace(classes.end());
    fits->layers.push_back(layer);
    fits->units += trace.experts;
    fits->unit_bytes = std::max(fits->unit_bytes, bytes[layer]);
  }
  return classes;
}

void MakeClassPools(const TraceInfo& trace, Scope scope, uint32_t size_class, Pools* pools) {
  const SizeClass& c = pools->classes[size_class];
  if (scope != Scope::kPerLayer) {
    pools->pools.push_back({c.layers, size_class, c.units});
    return;
  }
  for (uint32_t layer : c.layers) pools->pools.push_back({{layer}, size_class, trace.experts});
}

void SplitClass(const Pools& pools, uint32_t size_class, uint64_t slots,
                std::vector<uint32_t>* pool_slots) {
  const auto count = static_cast<uint64_t>(
      std::count_if(pools.pools.begin(), pools.pools.end(),
                    [&](const Pool& pool) { return pool.size_class == size_class; }));
  uint64_t at = 0;
  for (size_t p = 0; p < pools.pools.size(); ++p) {
    if (pools.pools[p].size_class != size_class) continue;
    (*pool_slots)[p] = static_cast<uint32_t>(EqualQuota(slots, count, at++));
  }
}

std::vector<uint32_t> SplitClasses(const Pools& pools, const std::vector<uint64_t>& class_slots) {
  std::vector<uint32_t> pool_slots(pools.pools.size());
  for (uint32_t c = 0; c < class_slots.size(); ++c) {
    SplitClass(pools, c, class_slots[c], &pool_slots);
  }
  return pool_slots;
}

}  // namespace

uint64_t Pools::Cycle(const Pool& pool) const {
  return std::min<uint64_t>(pool.units, pool.layers.size() * top_k);
}

uint64_t Pools::MinimumSlots(const SizeClass& c) const {
  return std::min<uint64_t>(c.units, 3ull * top_k);
}

uint64_t Pools::BytesOf(const std::vector<uint32_t>& pool_slots) const {
  uint64_t bytes = 0;
  for (size_t p = 0; p < pools.size(); ++p) {
    bytes += pool_slots[p] * AlignUp(classes[pools[p].size_class].unit_bytes, kCardAlign);
  }
  return bytes;
}

Result<Pools> MakePools(const TraceInfo& trace, Scope scope, std::span<const uint64_t> unit_bytes) {
  Pools pools;
  pools.top_k = trace.top_k;
  pools.units = static_cast<uint64_t>(trace.layers) * trace.experts;
  if (pools.units > kMostUnits) {
    return InvalidArgumentError(FormatCount(trace.layers) + " layers x " +
                                FormatCount(trace.experts) + " experts are more than the " +
                                FormatCount(kMostUnits) + " units that can be counted");
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint64_t> bytes, UnitBytes(trace, unit_bytes));
  pools.classes = MakeClasses(trace, bytes, scope);
  pools.pool_of_layer.resize(trace.layers);
  for (uint32_t c = 0; c < pools.classes.size(); ++c) MakeClassPools(trace, scope, c, &pools);
  for (uint32_t p = 0; p < pools.pools.size(); ++p) {
    for (uint32_t layer : pools.pools[p].layers) pools.pool_of_layer[layer] = p;
  }
  return pools;
}

std::vector<uint32_t> SplitSlots(const Pools& pools, uint64_t slots) {
  std::vector<uint64_t> class_slots;
  uint64_t left = slots;
  for (const SizeClass& c : pools.classes) {
    class_slots.push_back(slots * c.units / pools.units);
    left -= class_slots.back();
  }
  for (size_t c = 0; left > 0; c = (c + 1) % class_slots.size()) {
    if (class_slots[c] == pools.classes[c].units) continue;
    ++class_slots[c];
    --left;
  }
  return SplitClasses(pools, class_slots);
}

std::vector<uint32_t> SplitBytes(const Pools& pools, uint64_t bytes) {
  arena::ArenaRequest request;
  request.arena_bytes = bytes;
  request.top_k = pools.top_k;
  for (const SizeClass& c : pools.classes) {
    request.classes.push_back({c.unit_bytes, static_cast<uint32_t>(c.units)});
  }
  std::vector<uint64_t> class_slots;
  if (const Result<arena::ArenaPlan> plan = arena::PlanArena(request); plan.ok()) {
    for (const arena::SlotClassPlan& c : plan->arena.classes) class_slots.push_back(c.slots);
    return SplitClasses(pools, class_slots);
  }
  // Fewer than an arena takes: the same share of every class, as if there were no minimum.
  double full = 0;
  for (const SizeClass& c : pools.classes) {
    full += static_cast<double>(AlignUp(c.unit_bytes, kCardAlign) * c.units);
  }
  const double share = std::min(1.0, static_cast<double>(bytes) / full);
  for (const SizeClass& c : pools.classes) {
    class_slots.push_back(static_cast<uint64_t>(share * static_cast<double>(c.units)));
  }
  return SplitClasses(pools, class_slots);
}

}  // namespace berth::curve
