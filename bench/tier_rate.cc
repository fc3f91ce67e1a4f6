#include "bench/tier_rate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/read_load.h"
#include "bench/stopwatch.h"
#include "runtime/base/math.h"
#include "runtime/base/mix.h"

namespace berth::bench {
namespace {

UnitShape ShapeOf(const Catalog& catalog, uint32_t layer) {
  UnitShape shape;
  shape.aligned = false;
  for (const Extent& e : catalog.extents(catalog.unit({layer, 0}))) {
    shape.extents.push_back(e.bytes);
  }
  return shape;
}

}  // namespace

uint64_t ArenaBytes(const Catalog& catalog, double share) {
  uint64_t bytes = 0;
  for (const SizeClass& c : catalog.size_classes()) {
    const uint64_t units = c.layers.size() * catalog.experts();
    const uint64_t least = std::min<uint64_t>(3ull * catalog.top_k(), units);
    bytes += AlignUp(c.card_bytes, kCardAlign) *
             std::max(least, static_cast<uint64_t>(share * static_cast<double>(units)));
  }
  return bytes;
}

RuntimeOptions MovingRuntime(const TierLoad& load, uint64_t arena_bytes, uint32_t steps) {
  RuntimeOptions o;
  o.model = load.model;
  o.compute = false;
  o.policy = "lru";
  o.slots = SlotSharingChoice::kShared;
  o.max_in_flight = steps;
  o.read_bytes_in_flight = load.in_flight;
  o.staging_bytes = std::max<uint64_t>(2 * load.in_flight, 128u << 20);
  o.cards[0].device = load.device;
  o.cards[0].arena_bytes = arena_bytes;
  return o;
}

Walk::Walk(uint32_t layers, uint32_t experts) : layers_(layers), experts_(experts) {
  for (uint32_t e = 0; e < experts; ++e) order_.push_back(static_cast<int32_t>(e));
  for (uint32_t e = experts; e > 1; --e) std::swap(order_[e - 1], order_[ScatterBits(e) % e]);
}

uint32_t Walk::Next(uint32_t count, std::vector<int32_t>* ids) {
  const uint32_t layer = static_cast<uint32_t>(step_ % layers_);
  const uint64_t first = step_ / layers_ * count;
  for (uint32_t i = 0; i < count; ++i) (*ids)[i] = order_[(first + i) % experts_];
  ++step_;
  return layer;
}

Result<double> TierRate(const TierLoad& load, const Catalog& catalog, std::string* rung) {
  constexpr uint32_t kSteps = 8;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime,
                         Runtime::Open(MovingRuntime(load, ArenaBytes(catalog, 0), kSteps)));
  *rung = runtime->info().io_rung;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, runtime->NewSession());
  Walk walk(catalog.layers(), catalog.experts());
  std::vector<int32_t> ids(catalog.top_k());
  std::vector<Ticket> tickets;
  const auto submit = [&]() -> Status {
    Step step;
    step.layer = walk.Next(catalog.top_k(), &ids);
    step.rows = 1;
    step.ids = ids.data();
    BERTH_ASSIGN_OR_RETURN(const Ticket ticket, session->Enqueue(step));
    tickets.push_back(ticket);
    return Status();
  };
  for (uint32_t s = 0; s < kSteps; ++s) BERTH_RETURN_IF_ERROR(submit());
  const Stopwatch watch(Clock::kWall);
  const uint64_t before = runtime->stats().moved.h2d;
  double seconds = 0;
  size_t oldest = 0;
  while ((seconds = watch.Seconds()) < load.seconds) {
    BERTH_RETURN_IF_ERROR(session->Wait(tickets[oldest++]));
    BERTH_RETURN_IF_ERROR(submit());
  }
  const Stats stats = runtime->stats();
  for (; oldest < tickets.size(); ++oldest) BERTH_RETURN_IF_ERROR(session->Wait(tickets[oldest]));
  for (const CardCounters& card : stats.counters.cards) {
    if (card.hits > 0) return InternalError("a unit was hit: the walk is too short for the arena");
  }
  return static_cast<double>(stats.moved.h2d - before) / seconds / 1e9;
}

// Each size class by itself, put together as the walk through the layers mixes them: smaller
// extents are slower.
Result<double> ReadRate(const TierLoad& tier, const Catalog& catalog) {
  double bytes = 0, seconds = 0;
  for (const SizeClass& size : catalog.size_classes()) {
    ReadLoad load;
    load.path = catalog.files().back().path;
    load.unit = ShapeOf(catalog, size.layers.front());
    load.depth =
        static_cast<uint32_t>(std::max<uint64_t>(1, tier.in_flight / load.unit.read_bytes_max()));
    load.seconds = tier.seconds / static_cast<double>(catalog.size_classes().size());
    BERTH_ASSIGN_OR_RETURN(const LoadResult result, RunReadLoad(load));
    const double share =
        static_cast<double>(size.payload_bytes) * static_cast<double>(size.layers.size());
    bytes += share;
    seconds += share / result.useful_gb_per_s;
  }
  return bytes / seconds;
}

}  // namespace berth::bench
