// Stats: what a Runtime did, where its time went, and what memory it took.
#ifndef BERTH_STATS_H_
#define BERTH_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/counters.h"

namespace berth {

// Wall time since Open, split so that it adds up: at every moment the first that applies.
struct TimeSplit {
  double device_s = 0;        // a card computed
  double host_compute_s = 0;  // the host computed missed units, no card computed
  double link_s = 0;          // a copy was under way, nothing computed
  double storage_s = 0;       // a read was under way, nothing copied or computed
  double other_s = 0;         // steps were enqueued, but none of these: decisions, hand-overs
  double idle_s = 0;          // nothing was enqueued: the caller's own time
  double total_s() const {
    return device_s + host_compute_s + link_s + storage_s + other_s + idle_s;
  }
};

// Bytes that drivers saw moving (the counters are what the core decided to move).
struct MovedBytes {
  uint64_t storage = 0;  // arrived from storage, alignment included (but for what of it lies
                         // beyond the end of a file)
  uint64_t retried = 0;  // asked for a second time
  uint64_t retries = 0;  // times
  uint64_t h2d = 0;
  uint64_t d2h = 0;
};

// Launches of a card's products (two a grouped call) by the kernel that ran them: one for every
// type, those made for a type with dot products and with matrix instructions, and that of wide
// units. Results are the same bits whatever ran. Zeros on cards of the host.
struct KernelLaunches {
  uint64_t plain = 0, dots = 0, matrices = 0, wide = 0;
};

struct MemoryUse {
  uint64_t arena_bytes = 0;  // all cards' slots
  uint64_t ring_bytes = 0;
  uint64_t host_tier_bytes = 0;
  uint64_t staging_bytes = 0;
  uint64_t workspace_bytes = 0;  // partial results, inputs, scratch: from max_rows and sessions
  uint64_t books_bytes = 0;      // the core's tables and the queues
  uint64_t catalog_bytes = 0;    // with resident siblings
  uint64_t total() const {
    return arena_bytes + ring_bytes + host_tier_bytes + staging_bytes + workspace_bytes +
           books_bytes + catalog_bytes;
  }
};

struct CardInfo {
  std::string device;
  uint64_t arena_bytes = 0;  // used by slots
  uint64_t arena_slots = 0;  // over all size classes
  std::vector<uint32_t> class_slots;
  uint32_t ring_slots = 0;
  std::string copy_path;       // CardConfig::copy_path; empty on a host card
  uint32_t chosen_layers = 0;  // whose kernels RuntimeOptions::profile chose
};

struct RuntimeInfo {
  std::vector<CardInfo> cards;
  std::vector<uint32_t> host_class_slots;
  uint32_t staging_slots = 0;
  uint32_t chunk = 0;      // after clamping
  std::string arithmetic;  // "exact-1:8": version and exact rows; "f32"
  std::string isa;         // that computes on the host: "avx2"; empty where nothing does
  std::string machine;     // "2 cores, 2 processors, 1 NUMA node, 25.3 GB"
  bool checksums = false;  // every unit that is read is proved against one
  std::string io_rung;     // "io_uring+registered", ...
  std::string io_reason;   // why not a better one; empty on the best
  MemoryUse memory;
  std::vector<std::string> notes;  // what was clamped, assumed or refused by the machine
};

struct Stats {
  Counters counters;
  TimeSplit time;
  MovedBytes moved;
  std::vector<KernelLaunches> launches;  // by card; empty in a simulation
};

}  // namespace berth

#endif  // BERTH_STATS_H_
