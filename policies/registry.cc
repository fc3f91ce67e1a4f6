// The policies by name. A new one is a file of its own, its include and its row in kTable.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "policies/access_play.h"
#include "policies/arc.h"
#include "policies/belady.h"
#include "policies/clock.h"
#include "policies/fifo.h"
#include "policies/hazard.h"
#include "policies/heat.h"
#include "policies/heat_limit.h"
#include "policies/in_cache_lfu.h"
#include "policies/lfu.h"
#include "policies/lru.h"
#include "policies/params.h"
#include "policies/policy.h"
#include "policies/random.h"
#include "policies/s3_fifo.h"
#include "policies/sieve.h"
#include "policies/slru.h"
#include "policies/static.h"
#include "policies/two_queue.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::policies {
namespace {

struct Row {
  PolicyInfo info;
  Result<std::unique_ptr<Policy>> (*make)(Params& params, const PolicyOptions& options);
  AccessPlay play = &PlayAccesses<Policy>;
};

constexpr Row kTable[] = {
    {{"hazard",
      "least worth by odds of return that are learned online first, what is worth less than all "
      "others stays out; slow=0.98 (decay of the slow count, 0.9 to 0.99), fast=0.875 (0.5 to "
      "0.9); to compare: bypass=1, learn=1, turns=1 (0 leaves that part out)"},
     &HazardPolicy::Make},
    {{"lru", "least recently used first; no parameters"}, &LruPolicy::Make, &LruPolicy::Play},
    {{"lfu",
      "lowest decayed count first, counts survive eviction; decay=0.98 (per pass, 0.01 to 1)"},
     &LfuPolicy::Make,
     &LfuPolicy::Play},
    {{"heat",
      "the hottest are pinned, the others leave in LRU order; pins=50% (of the slots, or a number "
      "of units), decay=0.98 (per pass, 0.01 to 1), every=16 (passes between choices)"},
     &HeatPolicy::Make},
    {{"arc", "lists of units used once and used again, sized by the misses; no parameters"},
     &ArcPolicy::Make,
     &ArcPolicy::Play},
    {{"slru", "LRU in segments through which uses rise; segments=4 (1 to 16)"},
     &SlruPolicy::Make,
     &SlruPolicy::Play},
    {{"s3-fifo",
      "small queue, main queue, ghost list; small=10%, ghost=90% (of the slots, or a number of "
      "units), threshold=2 (uses that lead to the main queue, 1 to 3)"},
     &S3FifoPolicy::Make,
     &S3FifoPolicy::Play},
    {{"2q",
      "a queue, then LRU for those that come back; in=25%, out=50% (of the slots, or a number of "
      "units; out is remembered only)"},
     &TwoQueuePolicy::Make,
     &TwoQueuePolicy::Play},
    {{"sieve", "FIFO with a hand that spares what was used; no parameters"},
     &SievePolicy::Make,
     &SievePolicy::Play},
    {{"clock", "FIFO with second chances; bits=1 (of the counter of uses, 1 to 8)"},
     &ClockPolicy::Make,
     &ClockPolicy::Play},
    {{"fifo", "first in, first out; no parameters"}, &FifoPolicy::Make, &FifoPolicy::Play},
    {{"in-cache-lfu", "fewest uses first, counts are lost on eviction; no parameters"},
     &InCacheLfuPolicy::Make,
     &InCacheLfuPolicy::Play},
    {{"static", "the hottest of a profile stay, others pass through; no parameters",
      /*needs_heat=*/true},
     &StaticPolicy::Make},
    {{"random", "any, by the seed; no parameters"}, &RandomPolicy::Make},
    {{"belady",
      "used again last leaves first, by the future: the bound, in simulation only; admit=bypass "
      "(what is used again later than all others passes through, or always)",
      /*needs_heat=*/false, /*needs_future=*/true},
     &BeladyPolicy::Make,
     &BeladyPolicy::Play},
};

template <size_t... kRow>
constexpr std::array<PolicyInfo, sizeof...(kRow)> InfosOf(std::index_sequence<kRow...>) {
  return {kTable[kRow].info...};
}
constexpr auto kInfos = InfosOf(std::make_index_sequence<std::size(kTable)>());

// A bound far above any model, so that a policy's arrays cannot be asked to take the machine.
constexpr uint32_t kMostUnits = 1u << 24;

Status CheckOptions(const PolicyOptions& options) {
  if (options.units == 0 || options.units > kMostUnits ||
      options.first_unit >= kNoUnit - options.units) {
    return InvalidArgumentError("a policy serves 1 to " + FormatCount(kMostUnits) + " units, not " +
                                FormatCount(options.units) + " from unit " +
                                FormatCount(options.first_unit));
  }
  if (!options.heat.empty() && options.heat.size() != options.units) {
    return InvalidArgumentError("the profile has " + FormatCount(options.heat.size()) +
                                " figures for a pool of " + FormatCount(options.units) +
                                " units: one per unit is needed");
  }
  if (!options.next_use.empty() && options.next_use.size() != options.units) {
    return InvalidArgumentError("next uses of " + FormatCount(options.next_use.size()) +
                                " units are given for a pool of " + FormatCount(options.units));
  }
  for (size_t at = 0; at < options.heat.size(); ++at) {
    const double heat = options.heat[at];
    // Written so that a NaN fails it.
    if (heat >= 0 && heat <= kMostHeat) continue;
    return InvalidArgumentError("the profile's figure for unit " +
                                FormatCount(options.first_unit + at) +
                                " is not a number from 0 to 1e18");
  }
  return Status();
}

}  // namespace

std::span<const PolicyInfo> Policies() { return kInfos; }

const PolicyInfo* FindPolicy(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  const auto info = std::find_if(kInfos.begin(), kInfos.end(),
                                 [name](const PolicyInfo& each) { return each.name == name; });
  return info == kInfos.end() ? nullptr : &*info;
}

AccessPlay AccessPlayOf(std::string_view spec) {
  const PolicyInfo* const info = FindPolicy(spec);
  BERTH_CHECK(info != nullptr);
  return kTable[info - kInfos.data()].play;
}

Result<std::unique_ptr<Policy>> MakePolicy(std::string_view spec, const PolicyOptions& options) {
  const size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  std::vector<std::string_view> names;
  for (const Row& row : kTable) names.push_back(row.info.name);
  for (const Row& row : kTable) {
    if (row.info.name != name) continue;
    BERTH_RETURN_IF_ERROR(CheckOptions(options));
    Params params(name);
    if (colon != spec.npos) BERTH_RETURN_IF_ERROR(params.Parse(spec.substr(colon + 1)));
    return row.make(params, options);
  }
  std::string known;
  for (std::string_view each : names) known += (known.empty() ? "" : ", ") + std::string(each);
  return InvalidArgumentError("there is no policy '" + std::string(name) + "'" +
                              DidYouMean(name, names) + "; there are " + known);
}

}  // namespace berth::policies
