#include "runtime/probe/timing.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/median.h"

namespace berth::probe {
namespace {

constexpr double kHopeless = 4;  // times the fastest
constexpr int kSecondLooks = 2;
constexpr double kNoise = 0.02;

}  // namespace

Result<std::vector<double>> TimeInTurns(size_t variants, const TimingOptions& options,
                                        const TimeVariant& time) {
  std::vector<double> once(variants);
  for (size_t v = 0; v < variants; ++v) {
    BERTH_RETURN_IF_ERROR(time(v, 1).status());  // whatever happens the first time only
    BERTH_ASSIGN_OR_RETURN(once[v], time(v, 1));
  }
  const double best = *std::min_element(once.begin(), once.end());
  std::vector<uint32_t> times(variants, 0);  // 0: it has been seen enough
  double round_s = 0;
  for (size_t v = 0; v < variants; ++v) {
    // Unless somebody else was in the way.
    for (int again = 0; again < kSecondLooks && once[v] > kHopeless * best; ++again) {
      BERTH_ASSIGN_OR_RETURN(const double seconds, time(v, 1));
      once[v] = std::min(once[v], seconds);
    }
    if (once[v] > kHopeless * best) continue;
    const double wanted = once[v] > 0 ? std::ceil(options.batch_s / once[v]) : options.most_times;
    times[v] = static_cast<uint32_t>(std::clamp<double>(wanted, 1, options.most_times));
    round_s += once[v] * times[v];
  }
  const double affordable = round_s > 0 ? options.budget_s / round_s : options.rounds;
  const auto rounds = static_cast<uint32_t>(std::clamp<double>(affordable, 1, options.rounds));
  std::vector<std::vector<double>> seconds(variants);
  for (uint32_t round = 0; round < rounds; ++round) {
    for (size_t v = 0; v < variants; ++v) {
      if (times[v] == 0) continue;
      BERTH_ASSIGN_OR_RETURN(const double all, time(v, times[v]));
      seconds[v].push_back(all / times[v]);
    }
  }
  for (size_t v = 0; v < variants; ++v) {
    if (times[v] > 0) once[v] = Median(std::move(seconds[v]));
  }
  return once;
}

Result<double> TimeAlone(const TimingOptions& options,
                         const std::function<Result<double>(uint32_t times)>& time) {
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<double> seconds,
      TimeInTurns(1, options, [&time](size_t, uint32_t times) { return time(times); }));
  return seconds[0];
}

size_t ChooseFastest(std::span<const double> seconds) {
  const auto fastest = std::min_element(seconds.begin(), seconds.end());
  if (*fastest >= (1 - kNoise) * seconds[0]) return 0;
  return static_cast<size_t>(fastest - seconds.begin());
}

}  // namespace berth::probe
