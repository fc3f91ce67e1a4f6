#include "tests/scheduler/decided.h"

namespace berth::scheduler {

std::string Decided(const Counters& c) {
  std::string s;
  const auto add = [&s](uint64_t n) { s += std::to_string(n) + " "; };
  for (uint64_t n : {c.passes, c.steps, c.rows, c.distinct_units, c.failed_steps, c.failed_reads,
                     c.failed_updates, c.leases, c.leases_refused}) {
    add(n);
  }
  for (const CardCounters& k : c.cards) {
    s += "| ";
    for (uint64_t n : {k.requests,
                       k.hits,
                       k.misses,
                       k.ring_units,
                       k.host_computed,
                       k.host_waves,
                       k.behind_loads,
                       k.behind_dropped,
                       k.bytes_h2d_behind,
                       k.inserted,
                       k.evicted,
                       k.waves,
                       k.prefetch_admitted,
                       k.prefetch_dropped,
                       k.prefetch_resident,
                       k.prefetch_used,
                       k.prefetch_wasted,
                       k.prefetch_unused,
                       k.bytes_prefetch_wasted,
                       k.lease_loads,
                       k.warm_loads,
                       k.bytes_h2d_warm,
                       k.units_h2d,
                       k.bytes_h2d_demand,
                       k.bytes_h2d_prefetch,
                       k.units_d2h,
                       k.bytes_d2h}) {
      add(n);
    }
  }
  s += "| ";
  const HostCounters& h = c.host;
  for (uint64_t n : {h.requests, h.hits, h.misses, h.staged, h.inserted, h.evicted, h.promoted,
                     h.copied_back, h.prefetch_hits, h.prefetch_misses, h.lease_hits,
                     h.lease_misses, h.warm_hits, h.warm_misses, h.warm_loads}) {
    add(n);
  }
  s += "| ";
  const StorageCounters& d = c.storage;
  for (uint64_t n : {d.units_demand, d.units_prefetch, d.bytes_demand, d.bytes_prefetch,
                     d.units_warm, d.bytes_warm, d.bytes_alignment}) {
    add(n);
  }
  return s + "| " + std::to_string(c.decisions);
}

}  // namespace berth::scheduler
