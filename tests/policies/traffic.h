// Random steps, the same on every machine: std::mt19937_64 is fixed by the standard, its
// distributions are not.
#ifndef BERTH_TESTS_POLICIES_TRAFFIC_H_
#define BERTH_TESTS_POLICIES_TRAFFIC_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "berth/types.h"

namespace berth::policies {

class Traffic {
 public:
  Traffic(uint64_t seed, UnitIndex first, uint32_t units)
      : random_(seed), first_(first), units_(units) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  // `count` distinct units; low ones come up more often than high ones.
  const std::vector<UnitIndex>& Draw(size_t count) {
    drawn_.clear();
    while (drawn_.size() < count) {
      const UnitIndex unit = first_ + static_cast<UnitIndex>(Below(Below(units_) + 1));
      if (std::find(drawn_.begin(), drawn_.end(), unit) == drawn_.end()) drawn_.push_back(unit);
    }
    return drawn_;
  }

 private:
  std::mt19937_64 random_;
  UnitIndex first_;
  uint32_t units_;
  std::vector<UnitIndex> drawn_;
};

}  // namespace berth::policies

#endif  // BERTH_TESTS_POLICIES_TRAFFIC_H_
