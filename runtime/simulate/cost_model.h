// What things cost on the machine of a profile, in whole nanoseconds of virtual time, rounded up so
// that no rate of the profile is ever exceeded.
#ifndef BERTH_RUNTIME_SIMULATE_COST_MODEL_H_
#define BERTH_RUNTIME_SIMULATE_COST_MODEL_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/options.h"
#include "berth/status.h"
#include "runtime/config/machine_profile.h"

namespace berth {

using Nanos = uint64_t;

// Virtual time ends here, after 115 days: what takes longer is cut to it, so that no sum wraps, and
// CheckTime makes it an error.
inline constexpr Nanos kMostNanos = 10'000'000'000'000'000;
Nanos NanosOf(double seconds);
// OutOfRange once virtual time has ended.
Status CheckTime(Nanos now);

// Time by size from rates at some sizes: linear between points (so that a rate between two points
// lies between theirs), at the first rate below them and at the last above.
class SizeTimes {
 public:
  SizeTimes() = default;
  SizeTimes(std::span<const double> bytes, std::span<const double> rates);  // one rate at least
  double Seconds(double bytes) const;

 private:
  std::vector<double> bytes_, seconds_;
  double first_rate_ = 0, last_rate_ = 0;
};

// Each drive: reads are served one after the other at the rate that the drive has with so many in
// flight, and known to be over a latency later.
class StorageCosts {
 public:
  explicit StorageCosts(const StorageProfile& profile);
  // `depth`: reads in flight, this one included; at least 1.
  Nanos Read(uint32_t bytes, uint32_t depth);
  Nanos latency() const { return latency_; }

 private:
  static constexpr uint32_t kDepths = 64;
  struct Known {
    uint32_t bytes = 0;
    Nanos nanos = 0;
  };
  std::vector<SizeTimes> by_depth_;       // [depth - 1]
  std::array<Known, kDepths> last_ = {};  // most reads are of one size
  Nanos latency_ = 0;
};

class LinkCosts {
 public:
  LinkCosts(const LinkProfile& profile, double imposed_bytes_per_s);
  // A unit's copy in `segments` equal pieces. `both`: the other direction is busy too.
  Nanos Copy(uint32_t bytes, uint32_t segments, bool to_card, bool both) const;
  Nanos issue() const { return issue_; }  // of one piece
  Nanos latency() const { return latency_; }

 private:
  SizeTimes to_card_;
  double to_host_factor_ = 1;  // of the time to the card
  double both_factor_to_card_ = 1, both_factor_to_host_ = 1;
  Nanos issue_ = 0, latency_ = 0;
};

class CardCosts {
 public:
  // Units computed on the host where `on_host`, by HostProfile::compute.
  CardCosts(const CardProfile& card, const HostProfile& host, bool on_host);
  // A wave of `units` units of `unit_bytes` with `pairs` (row, k) pairs in all.
  Nanos Wave(uint32_t units, uint32_t unit_bytes, uint32_t pairs) const;
  Nanos update() const { return update_; }
  Nanos reduce() const { return reduce_; }

 private:
  ProfileGrid kernels_;  // seconds by units and rows
  double unit_bytes_ = 1;
  ProfileGrid rates_;  // bytes a second by rows, where there are no kernels
  Nanos update_ = 0, reduce_ = 0;
};

// Units that the host computes: one after the other, all its threads on each.
class HostComputeCosts {
 public:
  explicit HostComputeCosts(const HostProfile& host);
  Nanos Unit(uint32_t unit_bytes, uint32_t rows) const;

 private:
  ProfileGrid rates_;  // bytes a second by rows
};

struct HostCosts {
  Nanos round_trip = 0, dispatch_hit = 0, dispatch_staged = 0, pass = 0, pass_row = 0;
};

struct MachineCosts {
  StorageCosts storage;
  std::vector<LinkCosts> links;  // [cards]
  std::vector<CardCosts> cards;  // [cards]
  HostComputeCosts host_compute;
  HostCosts host;
  bool in_place = false;           // units left in RAM are read from there by their card
  std::vector<std::string> notes;  // what the profile does not say and was assumed
};

// The costs of a machine with these cards. A card that the profile does not name is taken as the
// first of its backend (and that is noted), or as the defaults of machine_profile.h.
MachineCosts MakeCosts(const MachineProfile& profile, std::span<const CardConfig> cards);
// Memory of such a card for arena and ring; 0: not known.
uint64_t CardMemory(const MachineProfile& profile, const CardConfig& card);

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_COST_MODEL_H_
