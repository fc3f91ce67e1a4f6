// Machines and scripts, drawn from a seed.
#include "tests/scheduler/scenario.h"

#include <algorithm>
#include <span>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/math.h"
#include "tests/scheduler/any_policy.h"
#include "tests/scheduler/random.h"
#include "tests/scheduler/script_future.h"

namespace berth::scheduler {
namespace {

void DrawLayers(Geometry* g, Random* random) {
  Random& r = *random;
  g->layer_class.resize(g->layers);
  g->layer_payload_bytes.resize(g->layers);
  g->layer_extents.resize(g->layers);
  g->extent_read_bytes.assign(static_cast<size_t>(g->units()) * g->max_extents, 0);
  for (uint32_t l = 0; l < g->layers; ++l) {
    const uint32_t size_class = l < g->size_classes ? l : r.Below(g->size_classes);
    const uint32_t payload = 3000 * (size_class + 1);
    const uint32_t extents = r.In(1, g->max_extents);
    g->layer_class[l] = size_class;
    g->layer_payload_bytes[l] = payload;
    g->layer_extents[l] = static_cast<uint8_t>(extents);
    for (uint32_t at = l * g->experts; at < (l + 1) * g->experts; ++at) {
      for (uint32_t x = 0; x < extents; ++x) {
        // An extent begins anywhere in its first page.
        const uint64_t bytes = AlignUp(CeilDiv(payload, extents) + r.Below(4096), 4096);
        g->extent_read_bytes[static_cast<size_t>(at) * g->max_extents + x] =
            static_cast<uint32_t>(bytes);
      }
    }
  }
}

Geometry RandomGeometry(Random* random) {
  Random& r = *random;
  Geometry g;
  g.layers = r.In(1, 5);
  g.experts = r.In(4, 20);
  g.top_k = r.OneIn(12) ? g.experts : r.In(1, std::min(5u, g.experts));
  g.size_classes = r.In(1, std::min(3u, g.layers));
  g.max_extents = r.OneIn(8) ? 8 : r.In(1, 3);
  g.drives = r.In(1, 3);
  DrawLayers(&g, random);
  if (g.drives > 1) {
    const bool in_turn = r.OneIn(2);
    for (UnitIndex u = 0; u < g.units(); ++u) {
      g.unit_drive.push_back(static_cast<uint8_t>((in_turn ? u : r.Next()) % g.drives));
    }
  }
  return g;
}

// Modulo, layer by layer, anyhow, or all on one card beside which the others are idle.
std::vector<uint8_t> RandomPlacement(const Geometry& g, uint32_t cards, Random* random) {
  std::vector<uint8_t> placement;
  if (cards == 1) return placement;
  const uint32_t kind = random->Below(4);
  const uint32_t only = random->Below(cards);
  for (UnitIndex u = 0; u < g.units(); ++u) {
    const uint64_t card = kind == 0   ? u % g.experts
                          : kind == 1 ? g.layer_of(u)
                          : kind == 2 ? random->Next()
                                      : only;
    placement.push_back(static_cast<uint8_t>(card % cards));
  }
  return placement;
}

// From the least that is accepted to all.
void DrawTiers(CoreOptions* o, uint32_t cards, Random* random) {
  Random& r = *random;
  const Geometry& g = o->geometry;
  std::vector<std::vector<uint32_t>> units(cards, std::vector<uint32_t>(g.size_classes, 0));
  std::vector<uint32_t> class_units(g.size_classes, 0);
  for (UnitIndex u = 0; u < g.units(); ++u) {
    ++units[cards > 1 ? o->card_of_unit[u] : 0][g.class_of(u)];
    ++class_units[g.class_of(u)];
  }
  for (uint32_t c = 0; c < cards; ++c) {
    CardOptions card;
    for (uint32_t k = 0; k < g.size_classes; ++k) {
      const uint32_t least = std::min(3 * g.top_k, units[c][k]);
      card.class_slots.push_back(r.OneIn(3) ? least : r.In(least, std::max(least, units[c][k])));
    }
    card.ring_slots = r.OneIn(3) ? 1 : r.In(1, 6);
    o->cards.push_back(card);
  }
  const uint32_t host = r.Below(3);
  if (host == 0) return;
  for (uint32_t k = 0; k < g.size_classes; ++k) {
    o->host_class_slots.push_back(host == 1 ? r.In(0, std::min(6u, class_units[k]))
                                            : class_units[k]);
  }
  o->host_exclusive = r.OneIn(2);
}

// Costs of any proportion, that most splits come up; at times the host goes without.
MissCosts RandomCosts(const CoreOptions& o, Random* random) {
  Random& r = *random;
  const Geometry& g = o.geometry;
  MissCosts costs;
  costs.rows = o.exact_rows;
  const uint64_t link = r.In(1, 400), host = r.In(1, 400), read = r.In(1, 400), card = r.In(1, 60);
  for (uint32_t l = 0; l < g.layers; ++l) {
    costs.read.push_back(read);
    for (uint32_t n = 1; n <= costs.rows; ++n) costs.host.push_back(host * (2 + n) / 3);
  }
  for (size_t c = 0; c < o.cards.size(); ++c) {
    CardMissCosts k;
    k.lead = r.Below(20);
    k.tail = r.Below(20);
    for (uint32_t l = 0; l < g.layers; ++l) {
      k.copy.push_back(link + r.Below(20));
      k.call.push_back(r.Below(40));
      for (uint32_t n = 1; n <= costs.rows; ++n) k.unit.push_back(card * n);
    }
    costs.cards.push_back(std::move(k));
  }
  costs.rest = r.OneIn(2) ? 0 : r.Below(2000);
  costs.rest_row = r.Below(100);
  return costs;
}

void DrawMisses(CoreOptions* o, Random* random) {
  Random& r = *random;
  o->miss = static_cast<CoreOptions::Miss>(r.Below(3));
  o->exact_rows = r.OneIn(3) ? 8 : r.In(1, 4);
  o->max_behind = r.OneIn(3) ? 1 : r.In(1, 8);
  const bool costs = o->miss == CoreOptions::Miss::kAuto || r.OneIn(2);
  if (costs) o->miss_costs = RandomCosts(*o, random);
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
  o.geometry = RandomGeometry(&r);
  const Geometry& g = o.geometry;
  const uint32_t cards = r.OneIn(2) ? 1 : r.In(2, 4);
  o.card_of_unit = RandomPlacement(g, cards, &r);
  DrawTiers(&o, cards, &r);
  const AnyPolicy card_policy = DrawPolicy(&r);
  const AnyPolicy host_policy = DrawPolicy(&r);
  o.policy = card_policy.spec;
  o.host_policy = host_policy.spec;
  o.sharing = static_cast<CoreOptions::Sharing>(r.Below(3));
  if (r.OneIn(3) || card_policy.needs_heat || host_policy.needs_heat) {
    for (UnitIndex u = 0; u < g.units(); ++u) o.heat.push_back(r.Below(10));
  }
  o.chunk = r.OneIn(6) ? 1000 : r.In(0, 8);
  o.sweep_rows = r.OneIn(8) ? 0 : 4;
  o.sweep_share = r.OneIn(4) ? 0.0 : r.OneIn(4) ? 1.0 : 0.5;
  o.seed = seed;
  o.staging_slots = r.In(1, 5);
  o.prefetch_staging_slots = r.In(1, 3);
  o.read_bytes_in_flight = r.OneIn(4) ? 1 : r.In(1, 60000);
  o.prefetch_read_bytes_in_flight = r.In(1, 20000);
  o.copy_bytes_in_flight = r.OneIn(4) ? 1 : r.In(1, 40000);
  o.prefetch_copy_bytes_in_flight = r.In(1, 10000);
  if (r.OneIn(4)) o.max_reads = r.In(1, 3);
  if (r.OneIn(4)) o.max_copies = r.In(1, 3);
  o.max_tickets = r.In(1, 5);
  o.max_rows = r.OneIn(10) ? 40 : r.In(1, 12);
  o.max_leases = 3;
  o.max_lease_units = 4;
  o.max_prefetch_units = r.Below(9);
  DrawMisses(&o, &r);
  return o;
}

namespace {

// One that is refused: an id, a layer or rows beyond what there is.
void MakeWrong(Action* a, const CoreOptions& o, Random* random) {
  const Geometry& g = o.geometry;
  switch (random->Below(3)) {
    case 0:
      a->ids.back() = static_cast<int32_t>(random->OneIn(2) ? g.experts : UINT32_MAX - 1);
      break;
    case 1:
      a->layer = g.layers;
      break;
    default:
      if (a->kind == Action::Kind::kStep) a->ids.resize((o.max_rows + 1) * g.top_k, 0);
      break;
  }
}

std::vector<int32_t> Routing(uint32_t count, uint32_t experts, Random* random) {
  std::vector<int32_t> ids;
  for (uint32_t k = 0; k < count; ++k) {
    ids.push_back(random->OneIn(12) ? kNoExpert : static_cast<int32_t>(random->Skewed(experts)));
  }
  return ids;
}

void DrawLease(Action* a, const CoreOptions& o, Random* random) {
  const Geometry& g = o.geometry;
  a->kind = Action::Kind::kLease;
  for (uint32_t n = random->In(1, o.max_lease_units); n > 0; --n) {
    const UnitIndex unit = random->Below(g.layers) * g.experts + random->Skewed(g.experts);
    if (std::find(a->units.begin(), a->units.end(), unit) == a->units.end()) {
      a->units.push_back(unit);
    }
  }
  if (!random->OneIn(20)) return;
  // One that is refused: a unit twice, one that is not there, too many, none.
  const uint32_t wrong = random->Below(4);
  if (wrong == 0) a->units.push_back(a->units.front());
  if (wrong == 1) a->units.back() = g.units();
  if (wrong == 2) a->units.resize(o.max_lease_units + 1, 0);
  if (wrong == 3) a->units.clear();
}

}  // namespace

std::vector<Action> RandomScript(uint64_t seed, const CoreOptions& o, const ScriptShape& shape) {
  Random r(seed ^ 0x5eed);
  const Geometry& g = o.geometry;
  std::vector<Action> script;
  uint32_t leases = 0;
  uint64_t pass = 0;
  uint32_t layer = 0;
  const uint32_t close_at = shape.closes ? r.Below(shape.actions) : UINT32_MAX;
  const uint32_t heal_at = shape.heals ? r.Below(shape.actions) : UINT32_MAX;
  for (uint32_t i = 0; i < shape.actions; ++i) {
    Action a;
    // Another session may be passes behind.
    a.pass = r.OneIn(10) ? pass / 2 : pass;
    a.layer = layer;
    const uint32_t what = r.Below(20);
    if (i == close_at || i == heal_at) {
      a.kind = i == close_at ? Action::Kind::kClose : Action::Kind::kHeal;
    } else if (what < 4) {
      a.kind = Action::Kind::kHint;
      a.layer = r.Below(g.layers);
      a.ids = Routing(r.In(1, 2 * g.top_k), g.experts, &r);
      if (r.OneIn(40)) MakeWrong(&a, o, &r);
    } else if (what == 4) {
      DrawLease(&a, o, &r);
      ++leases;
    } else if (what == 5 && leases > 0) {
      a.kind = Action::Kind::kRelease;
      a.lease = r.Below(leases);
    } else {
      const uint32_t rows = r.OneIn(5) ? r.In(1, o.max_rows) : r.In(1, std::min(2u, o.max_rows));
      a.ids = Routing(rows * g.top_k, g.experts, &r);
      if (r.OneIn(40)) std::fill(a.ids.begin(), a.ids.end(), kNoExpert);
      if (r.OneIn(60)) MakeWrong(&a, o, &r);
      // Mostly the layers in turn; at times two sessions in one layer.
      if (!r.OneIn(4)) layer = (layer + 1) % g.layers;
      if (layer == 0) ++pass;
    }
    script.push_back(std::move(a));
  }
  return script;
}

namespace {

void PlayStep(FakeDriver* driver, const Action& a) {
  for (;;) {
    const Result<TicketId> ticket = driver->Step(a.layer, a.ids, a.pass);
    if (ticket.ok() || ticket.status().code() != StatusCode::kResourceExhausted) return;
    if (!driver->Answer()) return;
  }
}

// A lease that was released before it was ready takes a place until it would have been, and only so
// many units of leases may be loading.
Result<LeaseId> PlayLease(FakeDriver* driver, const Action& a, uint32_t max_leases) {
  for (;;) {
    Result<LeaseId> lease = driver->Lease(a.units);
    const bool full =
        !lease.ok() && lease.status().message().find("still loading") != std::string::npos;
    if (!full || driver->leases_held() == max_leases || !driver->Answer()) return lease;
  }
}

}  // namespace

void WarmUp(FakeDriver* driver) {
  const std::vector<UnitIndex> units = driver->core().WarmUnits();
  const size_t batch = driver->core().warm_batch();
  for (size_t at = 0; at < units.size() && driver->error().empty(); at += batch) {
    const auto part = std::span(units).subspan(at, std::min(batch, units.size() - at));
    BERTH_CHECK(driver->core().SubmitWarm(part).ok());
    driver->AnswerAll();
  }
}

void Play(FakeDriver* driver, const std::vector<Action>& script, uint64_t pace, uint32_t most) {
  Random r(pace);
  std::vector<Result<LeaseId>> leases;
  ScriptFuture future(driver->options(), script, driver->next_use());
  for (const Action& a : script) {
    switch (a.kind) {
      case Action::Kind::kStep:
        future.BeginStep(static_cast<size_t>(&a - script.data()), driver->next_use());
        PlayStep(driver, a);
        break;
      case Action::Kind::kHint:
        (void)driver->Hint(a.layer, a.ids, a.pass);
        break;
      case Action::Kind::kLease:
        leases.push_back(PlayLease(driver, a, driver->options().max_leases));
        break;
      case Action::Kind::kRelease:
        if (leases[a.lease].ok()) (void)driver->Release(*leases[a.lease]);
        break;
      case Action::Kind::kClose:
        driver->Close();
        break;
      case Action::Kind::kHeal:
        driver->Heal();
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

void PlayEveryUnit(FakeDriver* driver) {
  const Geometry& g = driver->options().geometry;
  const uint32_t at_once = driver->options().max_rows * g.top_k;
  Action a;
  for (a.layer = 0; a.layer < g.layers && driver->error().empty(); ++a.layer) {
    for (uint32_t first = 0; first < g.experts; first += at_once) {
      const uint32_t count = std::min(at_once, g.experts - first);
      a.ids.assign(AlignUp(count, g.top_k), kNoExpert);
      for (uint32_t e = 0; e < count; ++e) a.ids[e] = static_cast<int32_t>(first + e);
      PlayStep(driver, a);
    }
  }
  driver->AnswerAll();
}

}  // namespace berth::scheduler
