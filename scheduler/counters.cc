#include "scheduler/counters.h"

#include <string>

namespace berth::scheduler {
namespace {

Status Differ(const std::string& what, uint64_t left, uint64_t right) {
  if (left == right) return Status();
  return InternalError("counters do not balance: " + what + ": " + std::to_string(left) +
                       " against " + std::to_string(right));
}

}  // namespace

Status CheckBalance(const Counters& c) {
  uint64_t requests = 0, misses = 0, copies = 0, d2h = 0;
  uint64_t prefetches = 0, leases = 0, warm = 0;
  for (size_t i = 0; i < c.cards.size(); ++i) {
    const CardCounters& card = c.cards[i];
    const std::string name = "card " + std::to_string(i) + ": ";
    BERTH_RETURN_IF_ERROR(
        Differ(name + "hits + misses = requests", card.hits + card.misses, card.requests));
    // The host computes misses only, and only what it computed is loaded behind a step.
    if (card.host_computed > card.misses ||
        card.behind_loads + card.behind_dropped > card.host_computed) {
      return InternalError("counters do not balance: " + name +
                           "behind loads <= host computed <= misses");
    }
    BERTH_RETURN_IF_ERROR(
        Differ(name + "units copied in = staged misses + prefetched + leased + warm + behind",
               card.units_h2d,
               card.misses - card.host_computed + card.prefetch_admitted + card.lease_loads +
                   card.warm_loads + card.behind_loads));
    BERTH_RETURN_IF_ERROR(Differ(name + "used + wasted + unused = prefetched",
                                 card.prefetch_used + card.prefetch_wasted + card.prefetch_unused,
                                 card.prefetch_admitted));
    BERTH_RETURN_IF_ERROR(Differ(name + "inserted = units copied in - ring units", card.inserted,
                                 card.units_h2d - card.ring_units));
    requests += card.requests;
    misses += card.misses;
    // A unit that the host computes is looked up once, whether or not it is loaded behind.
    copies += card.units_h2d + card.host_computed - card.behind_loads;
    d2h += card.units_d2h;
    prefetches += card.prefetch_admitted;
    leases += card.lease_loads;
    warm += card.warm_loads;
  }
  BERTH_RETURN_IF_ERROR(Differ("requests = distinct units", requests, c.distinct_units));
  BERTH_RETURN_IF_ERROR(Differ("host requests = card misses", c.host.requests, misses));
  BERTH_RETURN_IF_ERROR(
      Differ("host hits + misses = requests", c.host.hits + c.host.misses, c.host.requests));
  BERTH_RETURN_IF_ERROR(Differ("host lookups = copies to cards and units computed on the host",
                               c.host.requests + c.host.prefetch_hits + c.host.prefetch_misses +
                                   c.host.lease_hits + c.host.lease_misses + c.host.warm_hits +
                                   c.host.warm_misses,
                               copies));
  BERTH_RETURN_IF_ERROR(
      Differ("prefetches", c.host.prefetch_hits + c.host.prefetch_misses, prefetches));
  BERTH_RETURN_IF_ERROR(Differ("lease loads", c.host.lease_hits + c.host.lease_misses, leases));
  BERTH_RETURN_IF_ERROR(Differ("warm loads", c.host.warm_hits + c.host.warm_misses, warm));
  BERTH_RETURN_IF_ERROR(Differ("units read on demand = host misses", c.storage.units_demand,
                               c.host.misses + c.host.lease_misses));
  BERTH_RETURN_IF_ERROR(
      Differ("units read ahead", c.storage.units_prefetch, c.host.prefetch_misses));
  BERTH_RETURN_IF_ERROR(
      Differ("units read to warm", c.storage.units_warm, c.host.warm_misses + c.host.warm_loads));
  BERTH_RETURN_IF_ERROR(Differ("copies back = units from cards", c.host.copied_back, d2h));
  return Status();
}

}  // namespace berth::scheduler
