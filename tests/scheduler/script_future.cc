#include "tests/scheduler/script_future.h"

#include <algorithm>

#include "policies/policy.h"

namespace berth::scheduler {
namespace {

// One that the core refuses touches nothing.
bool Refused(const Action& a, const CoreOptions& options) {
  const Geometry& g = options.geometry;
  return a.layer >= g.layers || a.ids.size() > size_t{options.max_rows} * g.top_k ||
         std::any_of(a.ids.begin(), a.ids.end(), [&g](int32_t id) {
           return id != kNoExpert && static_cast<uint32_t>(id) >= g.experts;
         });
}

}  // namespace

ScriptFuture::ScriptFuture(const CoreOptions& options, const std::vector<Action>& script,
                           std::span<uint64_t> next_use)
    : after_(script.size()) {
  std::fill(next_use.begin(), next_use.end(), policies::kNeverUsed);
  for (size_t at = script.size(); at-- > 0;) {
    const Action& a = script[at];
    if (a.kind != Action::Kind::kStep || Refused(a, options)) continue;
    const auto unit_of = [&](int32_t id) {
      return a.layer * options.geometry.experts + static_cast<UnitIndex>(id);
    };
    for (const int32_t id : a.ids) {
      if (id != kNoExpert) after_[at].emplace_back(unit_of(id), next_use[unit_of(id)]);
    }
    for (const int32_t id : a.ids) {
      if (id != kNoExpert) next_use[unit_of(id)] = at;
    }
  }
}

void ScriptFuture::BeginStep(size_t at, std::span<uint64_t> next_use) const {
  for (const auto& [unit, use] : after_[at]) next_use[unit] = use;
}

}  // namespace berth::scheduler
