// Policy: who leaves a pool of slots, and who may come in.
//
// A policy serves one *pool*: the slots of one size class of one tier (or of one layer, where a
// pool has quotas per layer). It is pure: it sees touches and the pass number, never time, I/O or
// addresses, so equal call sequences give equal decisions on every machine. It allocates when it
// is made and never again. Every call is O(log n) at most, amortized over a step.
//
// Order of calls within one step (one MoE layer of one forward pass):
//   BeginStep(pass)
//   Touched(unit, resident, rows)    for every distinct unit of the step, in first-appearance order
//   per missed unit, in that order:
//     Admit(unit)                    may it take a slot? (an empty one, or a victim's)
//     NextVictim(evictable)          only if no slot is empty
//     Erased(victim), Inserted(unit)
// Prefetch and leases call Admit/NextVictim/Inserted outside a touch, after a BeginStep of their
// own. A read that failed calls Erased at any time between steps.
//
// Not thread-safe: the scheduler core calls it under its owner's lock.
#ifndef BERTH_POLICIES_POLICY_H_
#define BERTH_POLICIES_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"

namespace berth::policies {

// Which units may leave right now. Units that are not evictable stay so until the next BeginStep,
// which lets a policy move past them once per step instead of once per victim.
class Evictable {
 public:
  virtual bool operator()(UnitIndex unit) const = 0;

 protected:
  ~Evictable() = default;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // The registered name, e.g. "lru".
  virtual std::string_view name() const = 0;
  // One line for people about what was clamped or assumed when the policy was made; often empty.
  virtual std::string note() const { return ""; }

  // A new step (or hint, or lease) begins. `pass` never decreases.
  virtual void BeginStep(uint64_t pass) = 0;
  // `rows` of the step route to `unit`, at least one; `resident` says whether it has a slot of this
  // pool now.
  virtual void Touched(UnitIndex unit, bool resident, uint32_t rows) = 0;
  // May `unit`, which has no slot, take one? False: it passes through without residency.
  virtual bool Admit(UnitIndex unit) = 0;
  virtual void Inserted(UnitIndex unit) = 0;
  virtual void Erased(UnitIndex unit) = 0;
  // The resident unit that should leave first among the evictable ones; kNoUnit if there is none.
  // The caller follows up with Erased for the unit it takes.
  virtual UnitIndex NextVictim(const Evictable& evictable) = 0;

  // What was learned, one figure per unit of the range: hotter units have larger ones, none is
  // negative, and units of which nothing is known have 0. A policy of any name that is made with
  // it as PolicyOptions::heat starts from there, its order of leaving once the hottest units have
  // been inserted, the hottest last. Policies that count give their counts, others the rank in
  // which the resident units would leave, from 1 (see each). Not for the step path: may allocate.
  virtual void Learned(std::span<double> heat) const = 0;
};

// "Never again", as a next use.
inline constexpr uint64_t kNeverUsed = UINT64_MAX;

struct PolicyOptions {
  // Units that the pool may ever hold: [first_unit, first_unit + units). Units outside the range
  // are a broken invariant.
  UnitIndex first_unit = 0;
  uint32_t units = 0;
  uint32_t slots = 0;  // of the pool
  uint32_t top_k = 0;  // of the model
  uint64_t seed = 1;   // for policies that draw numbers
  // Heat known beforehand, one figure per unit of the range (a profile); empty: none.
  std::span<const double> heat;
  // The future, for policies that need it (PolicyInfo::needs_future): the number of the next use of
  // each unit of the range, kNeverUsed if there is none. The caller owns it, keeps it for the
  // policy's life and brings it up to date for a step's units before their Touched. Any numbering
  // will do in which uses by later steps have larger numbers; numbers without large gaps are
  // faster.
  std::span<const uint64_t> next_use;
};

// Makes a policy from "name" or "name:key=value,key=value". An unknown name or key is an
// InvalidArgument with the nearest known name.
Result<std::unique_ptr<Policy>> MakePolicy(std::string_view spec, const PolicyOptions& options);

struct PolicyInfo {
  std::string_view name;
  std::string_view summary;   // one line, with its parameters and their defaults
  bool needs_heat = false;    // made only with PolicyOptions::heat
  bool needs_future = false;  // made only with PolicyOptions::next_use
};
// All registered policies, in the order in which --help shows them.
std::span<const PolicyInfo> Policies();
// Of the policy that a spec names; nullptr where there is none of that name.
const PolicyInfo* FindPolicy(std::string_view spec);

}  // namespace berth::policies

#endif  // BERTH_POLICIES_POLICY_H_
