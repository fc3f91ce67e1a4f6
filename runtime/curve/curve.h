// The miss rate against the size of the arena: every policy and the bounds at some sizes, LRU at
// all of them.
#ifndef BERTH_RUNTIME_CURVE_CURVE_H_
#define BERTH_RUNTIME_CURVE_CURVE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "runtime/count/count.h"
#include "runtime/curve/pools.h"
#include "runtime/curve/sizes.h"
#include "runtime/trace/trace.h"

namespace berth::curve {

struct CurveOptions {
  // Its pools are made from `scope`; its heat makes the policies start warm.
  CountWorkload workload;
  Scope scope = Scope::kShared;
  std::vector<uint64_t> unit_bytes;   // one value, or one a layer; empty: what the trace states
  std::vector<SizeRequest> sizes;     // empty: a ladder
  std::vector<std::string> policies;  // empty: all that can run
  bool always_admit = false;
  bool preload = false;
  uint64_t seed = 1;
  bool maps = false;  // also residency maps
  std::function<void(std::string_view what, uint64_t done, uint64_t passes)> progress;
};

struct PolicyCurve {
  std::string spec;
  std::string summary;
  bool is_bound = false;            // knows the future
  std::vector<CountResult> points;  // one for each size
};

struct LeftOut {
  std::string policy;
  std::string reason;
};

// How much of the time each unit was resident, by one policy at one size.
struct ResidencyMap {
  size_t policy = 0, size = 0;  // indices of the report
  std::vector<uint8_t> shares;  // [layers x experts], 255: always
};

// LRU at slots first_slots + i x stride.
struct LruLine {
  uint64_t first_slots = 0;
  uint64_t stride = 1;
  std::vector<uint64_t> misses;
};

struct CurveReport {
  Pools pools;
  uint64_t passes = 0;                // counted
  uint32_t rows_max = 0;              // of a pass
  std::vector<Size> sizes;            // ascending
  std::vector<PolicyCurve> policies;  // the bounds come last
  std::vector<LeftOut> left_out;
  LruLine lru;
  std::vector<ResidencyMap> maps;
  std::vector<std::string> notes;  // for people: what was clamped, what is misleading

  uint64_t lookups() const { return policies.front().points.front().lookups; }
  // The policy that misses least of those that do not know the future; none where there is none.
  std::optional<size_t> BestOnline(size_t size) const;
  // The lowest of the bounds, likewise.
  std::optional<size_t> Bound(size_t size) const;
  std::optional<size_t> Find(std::string_view spec) const;
  // The size that is nearest to a share of all units.
  size_t Nearest(double share) const;
};

// Everything that can be refused is refused before the trace is read.
Result<CurveReport> MeasureCurve(TraceFile* trace, const CurveOptions& options);

}  // namespace berth::curve

#endif  // BERTH_RUNTIME_CURVE_CURVE_H_
