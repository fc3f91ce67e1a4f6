// The units of one pool as local numbers from 0, which is what policies index their arrays with.
#ifndef BERTH_POLICIES_UNIT_RANGE_H_
#define BERTH_POLICIES_UNIT_RANGE_H_

#include <cstdint>

#include "berth/types.h"
#include "policies/policy.h"
#include "runtime/base/check.h"

namespace berth::policies {

class UnitRange {
 public:
  explicit UnitRange(const PolicyOptions& options)
      : first_(options.first_unit), units_(options.units) {}

  uint32_t units() const { return units_; }
  uint32_t Local(UnitIndex unit) const {
    // Unsigned wrap turns a unit below the range into one far above it.
    const uint32_t local = unit - first_;
    BERTH_CHECK_MSG(local < units_, "a policy was given a unit outside its pool's range");
    return local;
  }
  UnitIndex Global(uint32_t local) const { return first_ + local; }

 private:
  UnitIndex first_;
  uint32_t units_;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_UNIT_RANGE_H_
