#include "tests/scheduler/scenario.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "policies/policy.h"

namespace berth::scheduler {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : rng_(seed) {}
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(rng_() % n); }
  uint32_t In(uint32_t low, uint32_t high) { return low + Below(high - low + 1); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }
  // Small numbers are more likely, so that there are hits.
  uint32_t Skewed(uint32_t n) { return std::min(Below(n), OneIn(3) ? n : Below(n)); }

 private:
  std::mt19937_64 rng_;
};

void SetLayer(Geometry* g, uint32_t layer, uint32_t size_class, uint32_t payload, uint32_t extents,
              Random* random) {
  g->layer_class[layer] = size_class;
  g->layer_payload_bytes[layer] = payload;
  g->layer_extents[layer] = static_cast<uint8_t>(extents);
  for (uint32_t e = 0; e < g->experts; ++e) {
    for (uint32_t x = 0; x < extents; ++x) {
      const size_t unit = static_cast<size_t>(layer) * g->experts + e;
      g->extent_read_bytes[unit * g->max_extents + x] = payload / extents + 1 + random->Below(60);
    }
  }
}

// Every registered one that needs no future, and some with parameters that make them do more.
std::string AnyPolicy(Random* random) {
  std::vector<policies::PolicyInfo> all;
  for (const policies::PolicyInfo& info : policies::Policies()) {
    if (!info.needs_future) all.push_back(info);
  }
  constexpr const char* kWithParameters[] = {
      "lfu:decay=0.7", "heat:pins=80%,every=2", "s3-fifo:small=50%,threshold=1",
      "clock:bits=2",  "slru:segments=2",       "2q:in=50%,out=100%"};
  const uint32_t at = random->Below(static_cast<uint32_t>(all.size() + std::size(kWithParameters)));
  if (at < all.size()) return std::string(all[at].name);
  return kWithParameters[at - all.size()];
}

}  // namespace

CoreOptions SmallMachine(uint32_t layers, uint32_t experts, uint32_t top_k, uint32_t slots) {
  CoreOptions o;
  Geometry& g = o.geometry;
  g.layers = layers;
  g.experts = experts;
  g.top_k = top_k;
  g.layer_class.assign(layers, 0);
  g.layer_payload_bytes.assign(layers, 100);
  g.layer_extents.assign(layers, 1);
  g.extent_read_bytes.assign(g.units(), 128);
  o.cards.push_back({{slots}, 4});
  o.chunk = 2;
  o.sharing = CoreOptions::Sharing::kShared;
  o.staging_slots = 4;
  return o;
}

CoreOptions RandomMachine(uint64_t seed) {
  Random r(seed);
  CoreOptions o;
  Geometry& g = o.geometry;
  g.layers = r.In(1, 4);
  g.experts = r.In(4, 20);
  g.top_k = r.In(1, std::min(4u, g.experts));
  g.size_classes = r.In(1, std::min(3u, g.layers));
  g.max_extents = r.In(1, 3);
  g.drives = r.In(1, 2);
  g.layer_class.resize(g.layers);
  g.layer_payload_bytes.resize(g.layers);
  g.layer_extents.resize(g.layers);
  g.extent_read_bytes.assign(static_cast<size_t>(g.units()) * g.max_extents, 0);
  for (uint32_t l = 0; l < g.layers; ++l) {
    const uint32_t c = l < g.size_classes ? l : r.Below(g.size_classes);
    SetLayer(&g, l, c, 300 * (c + 1), r.In(1, g.max_extents), &r);
  }
  if (g.drives > 1) {
    for (UnitIndex u = 0; u < g.units(); ++u) {
      g.unit_drive.push_back(static_cast<uint8_t>(u % g.drives));
    }
  }
  const uint32_t cards = r.In(1, 3);
  if (cards > 1) {
    for (UnitIndex u = 0; u < g.units(); ++u) {
      o.card_of_unit.push_back(static_cast<uint8_t>(u % g.experts % cards));
    }
  }
  std::vector<std::vector<uint32_t>> units(cards, std::vector<uint32_t>(g.size_classes, 0));
  std::vector<uint32_t> class_units(g.size_classes, 0);
  for (UnitIndex u = 0; u < g.units(); ++u) {
    ++units[cards > 1 ? o.card_of_unit[u] : 0][g.class_of(u)];
    ++class_units[g.class_of(u)];
  }
  for (uint32_t c = 0; c < cards; ++c) {
    CardOptions card;
    for (uint32_t k = 0; k < g.size_classes; ++k) {
      const uint32_t least = std::min(3 * g.top_k, units[c][k]);
      card.class_slots.push_back(r.OneIn(3) ? least : r.In(least, std::max(least, units[c][k])));
    }
    card.ring_slots = r.In(1, 6);
    o.cards.push_back(card);
  }
  o.policy = AnyPolicy(&r);
  o.host_policy = AnyPolicy(&r);
  o.sharing = static_cast<CoreOptions::Sharing>(r.Below(3));
  if (r.OneIn(3) || o.policy == "static" || o.host_policy == "static") {
    for (UnitIndex u = 0; u < g.units(); ++u) o.heat.push_back(r.Below(10));
  }
  o.chunk = r.In(1, 8);
  o.sweep_rows = 4;
  o.sweep_share = r.OneIn(4) ? 0.0 : 0.5;
  o.seed = seed;
  if (const uint32_t host = r.Below(3); host > 0) {
    for (uint32_t k = 0; k < g.size_classes; ++k) {
      o.host_class_slots.push_back(host == 1 ? r.In(0, std::min(6u, class_units[k]))
                                             : class_units[k]);
    }
    o.host_exclusive = r.OneIn(2);
  }
  o.staging_slots = r.In(1, 5);
  o.prefetch_staging_slots = r.In(1, 3);
  o.read_bytes_in_flight = r.In(1, 4000);
  o.prefetch_read_bytes_in_flight = r.In(1, 1000);
  o.copy_bytes_in_flight = r.In(1, 4000);
  o.prefetch_copy_bytes_in_flight = r.In(1, 1000);
  o.max_tickets = r.In(1, 5);
  o.max_rows = r.In(1, 12);
  o.max_leases = 3;
  o.max_lease_units = 4;
  o.max_prefetch_units = r.Below(9);
  return o;
}

std::vector<Action> RandomScript(uint64_t seed, const CoreOptions& o, uint32_t actions,
                                 bool closes) {
  Random r(seed ^ 0x5eed);
  const Geometry& g = o.geometry;
  std::vector<Action> script;
  uint32_t leases = 0;
  uint64_t pass = 0;
  uint32_t layer = 0;
  const uint32_t close_at = closes ? r.Below(actions) : UINT32_MAX;
  for (uint32_t i = 0; i < actions; ++i) {
    Action a;
    a.pass = pass;
    a.layer = layer;
    const uint32_t what = r.Below(20);
    if (i == close_at) {
      a.kind = Action::Kind::kClose;
    } else if (what < 4) {
      a.kind = Action::Kind::kHint;
      a.layer = r.Below(g.layers);
      const uint32_t n = r.In(0, 2 * g.top_k);
      for (uint32_t k = 0; k < n; ++k) {
        a.ids.push_back(r.OneIn(10) ? kNoExpert : static_cast<int32_t>(r.Skewed(g.experts)));
      }
    } else if (what == 4) {
      a.kind = Action::Kind::kLease;
      std::vector<UnitIndex> all;
      const uint32_t n = r.In(1, o.max_lease_units);
      for (uint32_t k = 0; k < n; ++k) {
        const UnitIndex unit = r.Below(g.layers) * g.experts + r.Skewed(g.experts);
        if (std::find(all.begin(), all.end(), unit) == all.end()) all.push_back(unit);
      }
      a.units = all;
      ++leases;
    } else if (what == 5 && leases > 0) {
      a.kind = Action::Kind::kRelease;
      a.lease = r.Below(leases);
    } else {
      const uint32_t rows = r.OneIn(5) ? r.In(1, o.max_rows) : r.In(1, std::min(2u, o.max_rows));
      for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t k = 0; k < g.top_k; ++k) {
          a.ids.push_back(r.OneIn(12) ? kNoExpert : static_cast<int32_t>(r.Skewed(g.experts)));
        }
      }
      if (r.OneIn(40)) std::fill(a.ids.begin(), a.ids.end(), kNoExpert);
      // Mostly the layers in turn; at times two sessions in one layer.
      if (!r.OneIn(4)) layer = (layer + 1) % g.layers;
      if (layer == 0) ++pass;
    }
    script.push_back(std::move(a));
  }
  return script;
}

void Play(FakeDriver* driver, const std::vector<Action>& script, uint64_t pace, uint32_t most) {
  Random r(pace);
  std::vector<Result<LeaseId>> leases;
  for (const Action& a : script) {
    switch (a.kind) {
      case Action::Kind::kStep:
        for (;;) {
          const Result<TicketId> ticket = driver->Step(a.layer, a.ids, a.pass);
          if (ticket.ok() || ticket.status().code() != StatusCode::kResourceExhausted) break;
          if (!driver->Answer()) break;
        }
        break;
      case Action::Kind::kHint:
        (void)driver->Hint(a.layer, a.ids, a.pass);
        break;
      case Action::Kind::kLease:
        leases.push_back(driver->Lease(a.units));
        break;
      case Action::Kind::kRelease:
        if (leases[a.lease].ok()) (void)driver->Release(*leases[a.lease]);
        break;
      case Action::Kind::kClose:
        driver->Close();
        break;
    }
    for (uint32_t n = r.Below(most + 1); n > 0 && driver->Answer(); --n) {
    }
    if (!driver->error().empty()) return;
  }
  driver->AnswerAll();
  for (const Result<LeaseId>& lease : leases) {
    if (lease.ok()) (void)driver->Release(*lease);
  }
  driver->AnswerAll();
}

}  // namespace berth::scheduler
