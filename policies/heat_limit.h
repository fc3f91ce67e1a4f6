// How hot a profile may say that a unit is.
#ifndef BERTH_POLICIES_HEAT_LIMIT_H_
#define BERTH_POLICIES_HEAT_LIMIT_H_

namespace berth::policies {

// Far above any count; sums and products of such figures stay finite.
inline constexpr double kMostHeat = 1e18;

}  // namespace berth::policies

#endif  // BERTH_POLICIES_HEAT_LIMIT_H_
