#include "runtime/curve/maps.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace berth::curve {
namespace {

// Pairs of policy and size, each once.
std::vector<ResidencyMap> Choose(const CurveReport& report) {
  std::vector<ResidencyMap> chosen;
  for (const double share : {0.5, 0.25, 0.75}) {
    const size_t size = report.Nearest(share);
    for (const std::optional<size_t> policy :
         {report.Find("lru"), report.BestOnline(size), report.Bound(size)}) {
      if (!policy) continue;
      const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const ResidencyMap& map) {
        return map.policy == *policy && map.size == size;
      });
      if (!known) chosen.push_back({*policy, size, {}});
    }
  }
  return chosen;
}

std::vector<uint8_t> Shares(const CountResult& result, size_t experts) {
  std::vector<uint8_t> shares;
  for (size_t unit = 0; unit < result.unit_resident_steps.size(); ++unit) {
    const auto steps =
        static_cast<double>(std::max<uint64_t>(1, result.layer_steps[unit / experts]));
    const double share = static_cast<double>(result.unit_resident_steps[unit]) / steps;
    shares.push_back(static_cast<uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0))));
  }
  return shares;
}

}  // namespace

Status CountMaps(TraceFile* trace, const CountWorkload& workload,
                 std::span<const CountRequest> requests, CountOptions counting,
                 CurveReport* report) {
  std::vector<ResidencyMap> maps = Choose(*report);
  std::vector<CountRequest> wanted;
  for (const ResidencyMap& map : maps) {
    wanted.push_back(requests[map.policy * report->sizes.size() + map.size]);
  }
  counting.residency = true;
  BERTH_ASSIGN_OR_RETURN(const std::vector<CountResult> counted,
                         CountMisses(trace, workload, wanted, counting));
  for (size_t i = 0; i < maps.size(); ++i) {
    maps[i].shares = Shares(counted[i], trace->info().experts);
  }
  report->maps = std::move(maps);
  return Status();
}

}  // namespace berth::curve
