#include "runtime/simulate/cost_model.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace berth {
namespace {

// Where a profile says nothing (docs/formats.md). Probes: random 2 MiB direct reads into huge
// pages; issuing a copy on an H200 machine.
constexpr double kStorageRate = 3e9;
constexpr double kLinkRate = 24e9;
constexpr double kIssue = 2.2e-6;
constexpr double kUpdate = 2e-6;
constexpr double kKernelRate = 500e9;
constexpr double kHostRate = 20e9;

// Index i and part t so that value = v[i] + t * (v[i + 1] - v[i]); t > 1 above the last point, 0
// below the first.
struct Between {
  size_t i = 0;
  double t = 0;
};
Between Find(std::span<const double> points, double at) {
  if (points.size() < 2 || at <= points.front()) return {0, 0};
  size_t i =
      static_cast<size_t>(std::upper_bound(points.begin(), points.end(), at) - points.begin());
  i = std::min(i, points.size() - 1) - 1;
  return {i, (at - points[i]) / (points[i + 1] - points[i])};
}

double Mix(double a, double b, double t) { return a + t * (b - a); }

// Held at the first and the last point.
double Held(std::span<const double> points, std::span<const double> values, double at) {
  Between b = Find(points, at);
  if (points.size() == 1) return values[0];
  return Mix(values[b.i], values[b.i + 1], std::min(b.t, 1.0));
}

// A cost that goes on as it did between the last two points, or in proportion where there is one.
double RowAt(const ProfileGrid& grid, size_t y, double x) {
  const std::span<const double> row(&grid.value[y * grid.x.size()], grid.x.size());
  if (row.size() == 1) return row[0] * std::max(1.0, x / grid.x[0]);
  const Between b = Find(grid.x, x);
  return Mix(row[b.i], row[b.i + 1], b.t);
}

std::string Backend(const std::string& name) { return name.substr(0, name.find(':')); }

// The entry of the card itself, or of the first of its backend.
template <typename Entry>
const Entry* ForCard(const std::vector<Entry>& entries, const std::string& name) {
  for (const Entry& entry : entries) {
    if (entry.card == name) return &entry;
  }
  for (const Entry& entry : entries) {
    if (Backend(entry.card) == Backend(name)) return &entry;
  }
  return nullptr;
}

void NoteMissing(const MachineProfile& profile, std::span<const CardConfig> cards,
                 std::vector<std::string>* notes) {
  if (profile.storage.bytes_per_s == 0 && profile.storage.rates.empty()) {
    notes->push_back("the profile has no storage rate: 3 GB/s a drive are assumed");
  }
  for (const CardConfig& card : cards) {
    const bool host = Backend(card.device) == "host";
    const LinkProfile* link = ForCard(profile.links, card.device);
    const CardProfile* entry = ForCard(profile.cards, card.device);
    if (link == nullptr && card.link_bytes_per_s == 0) {
      notes->push_back("the profile has no link of " + card.device + ": 24 GB/s are assumed");
    } else if (link != nullptr && link->card != card.device) {
      notes->push_back("the link of " + card.device + " is taken to be as that of " + link->card);
    }
    if (entry == nullptr && !(host && !profile.host.compute.empty())) {
      notes->push_back("the profile has no card " + card.device + ": kernels are assumed to read " +
                       (host ? "20" : "500") + " GB/s");
    } else if (entry != nullptr && entry->card != card.device) {
      notes->push_back("card " + card.device + " is taken to be as " + entry->card);
    }
  }
}

}  // namespace

// A product that should be whole may come out a little above.
Nanos NanosOf(double seconds) {
  const double nanos = std::ceil(std::max(0.0, seconds * 1e9 * (1 - 1e-13) - 1e-7));
  return nanos < static_cast<double>(kMostNanos) ? static_cast<Nanos>(nanos) : kMostNanos;
}

Status CheckTime(Nanos now) {
  if (now < kMostNanos) return Status();
  return OutOfRangeError(
      "more than 115 days of virtual time: look at the profile for a rate that is far too low or "
      "seconds that are far too many");
}

SizeTimes::SizeTimes(std::span<const double> bytes, std::span<const double> rates)
    : first_rate_(rates.front()), last_rate_(rates.back()) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes_.push_back(bytes[i]);
    seconds_.push_back(bytes[i] / rates[i]);
  }
}

double SizeTimes::Seconds(double bytes) const {
  if (bytes_.empty() || bytes <= bytes_.front()) return bytes / first_rate_;
  if (bytes >= bytes_.back()) return bytes / last_rate_;
  const Between b = Find(bytes_, bytes);
  return Mix(seconds_[b.i], seconds_[b.i + 1], b.t);
}

StorageCosts::StorageCosts(const StorageProfile& profile)
    : latency_(NanosOf(profile.latency_s.value_or(0))) {
  const ProfileGrid& grid = profile.rates;
  if (grid.empty()) {
    const double rate = profile.bytes_per_s > 0 ? profile.bytes_per_s : kStorageRate;
    by_depth_.emplace_back(std::span<const double>(), std::span(&rate, 1));
    return;
  }
  for (uint32_t depth = 1; depth <= kDepths; ++depth) {
    std::vector<double> rates;
    for (size_t x = 0; x < grid.x.size(); ++x) {
      std::vector<double> column;
      for (size_t y = 0; y < grid.y.size(); ++y) {
        column.push_back(grid.value[y * grid.x.size() + x]);
      }
      rates.push_back(Held(grid.y, column, depth));
    }
    by_depth_.emplace_back(grid.x, rates);
  }
}

Nanos StorageCosts::Read(uint32_t bytes, uint32_t depth) {
  const size_t d = std::min<size_t>(depth, by_depth_.size()) - 1;
  Known& known = last_[d];
  if (known.bytes != bytes) known = {bytes, NanosOf(by_depth_[d].Seconds(bytes))};
  return known.nanos;
}

LinkCosts::LinkCosts(const LinkProfile& profile, double imposed_bytes_per_s)
    : issue_(NanosOf(profile.issue_s.value_or(kIssue))),
      latency_(NanosOf(profile.latency_s.value_or(0))) {
  double rate = profile.bytes_per_s > 0 ? profile.bytes_per_s : kLinkRate;
  const ProfileGrid& grid = profile.rates;
  if (imposed_bytes_per_s > 0 || grid.empty()) {
    if (imposed_bytes_per_s > 0) rate = imposed_bytes_per_s;
    to_card_ = SizeTimes(std::span<const double>(), std::span(&rate, 1));
  } else {
    if (profile.bytes_per_s == 0) rate = grid.value.back();
    to_card_ = SizeTimes(grid.x, grid.value);
  }
  const double to_host = imposed_bytes_per_s > 0 || profile.to_host_bytes_per_s == 0
                             ? rate
                             : profile.to_host_bytes_per_s;
  to_host_factor_ = rate / to_host;
  // What both together have is shared in proportion to what each has alone.
  if (profile.both_bytes_per_s > 0) {
    const double slower = std::max(1.0, (rate + to_host) / profile.both_bytes_per_s);
    both_factor_to_card_ = both_factor_to_host_ = slower;
  }
}

Nanos LinkCosts::Copy(uint32_t bytes, uint32_t segments, bool to_card, bool both) const {
  double seconds = segments * to_card_.Seconds(static_cast<double>(bytes) / segments);
  if (!to_card) seconds *= to_host_factor_;
  if (both) seconds *= to_card ? both_factor_to_card_ : both_factor_to_host_;
  return NanosOf(seconds);
}

CardCosts::CardCosts(const CardProfile& card, const HostProfile& host, bool on_host)
    : kernels_(card.kernels),
      unit_bytes_(static_cast<double>(std::max<uint64_t>(1, card.unit_bytes))),
      update_(NanosOf(card.update_s.value_or(kUpdate))),
      reduce_(NanosOf(card.reduce_s.value_or(0))) {
  if (!kernels_.empty()) return;
  if (on_host && card.bytes_per_s == 0 && !host.compute.empty()) {
    rates_ = host.compute;
    return;
  }
  const double assumed = on_host ? kHostRate : kKernelRate;
  rates_ = {{1}, {0}, {card.bytes_per_s > 0 ? card.bytes_per_s : assumed}};
}

Nanos CardCosts::Wave(uint32_t units, uint32_t unit_bytes, uint32_t pairs) const {
  const double rows = static_cast<double>(pairs) / units;
  const double bytes = static_cast<double>(units) * unit_bytes;
  if (kernels_.empty()) return NanosOf(bytes / Held(rates_.x, rates_.value, rows));
  double seconds = RowAt(kernels_, 0, units);
  if (kernels_.y.size() > 1) {
    const Between b = Find(kernels_.y, rows);
    seconds = Mix(RowAt(kernels_, b.i, units), RowAt(kernels_, b.i + 1, units), b.t);
  } else {
    seconds *= std::max(1.0, rows / kernels_.y[0]);
  }
  return NanosOf(seconds * (unit_bytes / unit_bytes_));
}

HostComputeCosts::HostComputeCosts(const HostProfile& host) : rates_(host.compute) {
  if (rates_.empty()) rates_ = {{1}, {0}, {kHostRate}};
}

Nanos HostComputeCosts::Unit(uint32_t unit_bytes, uint32_t rows) const {
  return NanosOf(unit_bytes / Held(rates_.x, rates_.value, rows));
}

MachineCosts MakeCosts(const MachineProfile& profile, std::span<const CardConfig> cards) {
  MachineCosts costs{StorageCosts(profile.storage), {}, {}, HostComputeCosts(profile.host), {}, {}};
  for (const CardConfig& card : cards) {
    const LinkProfile* link = ForCard(profile.links, card.device);
    const CardProfile* entry = ForCard(profile.cards, card.device);
    costs.links.emplace_back(link == nullptr ? LinkProfile() : *link, card.link_bytes_per_s);
    costs.cards.emplace_back(entry == nullptr ? CardProfile() : *entry, profile.host,
                             Backend(card.device) == "host");
  }
  const HostProfile& host = profile.host;
  costs.host.round_trip = NanosOf(host.round_trip_s.value_or(0));
  costs.host.dispatch_hit = NanosOf(host.dispatch_hit_s.value_or(0));
  costs.host.dispatch_staged = NanosOf(host.dispatch_staged_s.value_or(0));
  costs.host.pass = NanosOf(host.pass_s.value_or(0));
  costs.host.pass_row = NanosOf(host.pass_row_s.value_or(0));
  NoteMissing(profile, cards, &costs.notes);
  return costs;
}

uint64_t CardMemory(const MachineProfile& profile, const CardConfig& card) {
  if (card.memory_bytes > 0) return card.memory_bytes;
  const CardProfile* entry = ForCard(profile.cards, card.device);
  return entry == nullptr ? 0 : entry->memory_bytes;
}

}  // namespace berth
