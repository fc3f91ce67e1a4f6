// Engine: how large everything will be, and whether the machine has room for it.
#include <algorithm>
#include <string>
#include <utility>

#include "arena/budget.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/geometry_of.h"

namespace berth {
namespace {

constexpr uint64_t kLeastStagingBytes = 64u << 20;
constexpr uint32_t kMaxLeases = 64;
constexpr uint32_t kMaxLeaseUnits = 512;

// Units of each size class that are placed on the card.
std::vector<arena::ArenaClass> ClassesOf(const Catalog& catalog,
                                         const std::vector<uint8_t>& card_of_unit, uint32_t card) {
  std::vector<arena::ArenaClass> classes;
  for (const SizeClass& c : catalog.size_classes()) {
    classes.push_back({c.card_bytes, 0, 0});
  }
  for (UnitIndex u = 0; u < catalog.units(); ++u) {
    if (card_of_unit[u] == card) ++classes[catalog.layer(catalog.ref(u).layer).size_class].units;
  }
  return classes;
}

uint64_t LargestHostSlot(const Catalog& catalog) {
  uint64_t largest = 0;
  for (const SizeClass& c : catalog.size_classes()) largest = std::max(largest, c.host_bytes);
  return largest;
}

}  // namespace

Status Engine::PlanMemory() {
  const Catalog& catalog = *catalog_;
  core_options_.geometry = GeometryOf(catalog);
  core_options_.card_of_unit.resize(catalog.units());
  for (UnitIndex u = 0; u < catalog.units(); ++u) {
    // Expert-parallel by number: neighbours of a token's experts spread over the cards.
    core_options_.card_of_unit[u] =
        static_cast<uint8_t>(catalog.ref(u).expert % options_.cards.size());
  }
  SetCoreOptions();
  uint64_t host_tier = 0, staging = 0;
  BERTH_RETURN_IF_ERROR(PlanHostTier(&host_tier));
  BERTH_RETURN_IF_ERROR(PlanStaging(&staging));
  const uint64_t largest = LargestHostSlot(catalog);
  const uint64_t work =
      WorkspaceBytes() + scheduler::Core::PlannedBytes(core_options_) + BooksBytes();
  std::vector<arena::BudgetItem> items = {
      {"host tier", host_tier, "--host-tier", 1, 0},
      {"staging", staging, "--staging", 1, 2 * largest},
      {"workspace and books", work, "max_rows (--streams, --window)",
       std::max<uint64_t>(1, work / options_.max_rows)}};
  uint64_t taken = 0;
  for (const arena::BudgetItem& item : items) taken += item.bytes;
  BERTH_RETURN_IF_ERROR(PlanArenas(taken));
  for (size_t c = 0; c < cards_.size(); ++c) {
    // A host card's memory is the machine's.
    if (!IsHostDevice(options_.cards[c].device)) continue;
    const arena::ArenaPlan& plan = arena_plans_[c];
    items.push_back({"arena of " + options_.cards[c].device, plan.arena.used_bytes, "--arena", 1,
                     plan.arena.minimum_bytes});
    items.push_back({"ring of " + options_.cards[c].device, plan.ring_bytes(), "--ring",
                     std::max<uint64_t>(1, plan.ring_slot_bytes)});
  }
  return arena::CheckBudget(items, available_bytes_);
}

void Engine::SetCoreOptions() {
  core_options_.policy = options_.policy;
  core_options_.sharing = static_cast<scheduler::CoreOptions::Sharing>(options_.slots);
  core_options_.chunk = options_.chunk;
  core_options_.sweep_rows = options_.sweep_rows;
  core_options_.sweep_share = options_.sweep_share;
  core_options_.seed = options_.seed;
  core_options_.host_exclusive = options_.host_exclusive;
  core_options_.host_policy = options_.host_policy;
  core_options_.read_bytes_in_flight = options_.read_bytes_in_flight;
  // A demand that finds one unit before it waits at most as long again as it takes alone.
  const uint64_t largest = LargestHostSlot(*catalog_);
  core_options_.prefetch_read_bytes_in_flight =
      options_.prefetch_read_bytes_in_flight > 0 ? options_.prefetch_read_bytes_in_flight : largest;
  core_options_.prefetch_copy_bytes_in_flight = largest;
  core_options_.max_tickets = options_.max_sessions * options_.max_in_flight;
  core_options_.max_rows = options_.max_rows;
  core_options_.max_leases = kMaxLeases;
  core_options_.max_lease_units = kMaxLeaseUnits;
}

Status Engine::PlanHostTier(uint64_t* bytes) {
  if (options_.host_tier_bytes == 0) return Status();
  std::vector<arena::ArenaClass> classes;
  for (const SizeClass& c : catalog_->size_classes()) {
    classes.push_back(
        {c.host_bytes, static_cast<uint32_t>(c.layers.size()) * catalog_->experts(), 0});
  }
  BERTH_ASSIGN_OR_RETURN(const arena::SlotPlan plan,
                         arena::PlanSlots(classes, options_.host_tier_bytes));
  if (std::string note = arena::HostTierNote(plan, options_.host_tier_bytes); !note.empty()) {
    info_.notes.push_back(std::move(note));
  }
  for (size_t c = 0; c < plan.classes.size(); ++c) {
    core_options_.host_class_slots.push_back(plan.classes[c].slots);
    if (plan.classes[c].slots == 0 && plan.slots > 0) {
      info_.notes.push_back("host tier: no slot for units of " +
                            FormatBytes(plan.classes[c].slot_bytes) + ": raise --host-tier");
    }
  }
  *bytes = plan.used_bytes;
  return Status();
}

Status Engine::PlanStaging(uint64_t* bytes) {
  const uint64_t largest = LargestHostSlot(*catalog_);
  const uint64_t wanted =
      options_.staging_bytes > 0
          ? options_.staging_bytes
          : std::max<uint64_t>(4ull * options_.chunk * largest, kLeastStagingBytes);
  const uint64_t useful = static_cast<uint64_t>(catalog_->units()) + 2;
  const uint64_t slots = std::min<uint64_t>(wanted / largest, useful);
  if (slots < 2) {
    return InvalidArgumentError("--staging of " + std::to_string(wanted) +
                                " bytes holds fewer than two units: raise it to at least " +
                                std::to_string(2 * largest));
  }
  if (options_.staging_bytes > 0 && wanted / largest > useful) {
    info_.notes.push_back("staging lowered to " + FormatBytes(slots * largest) +
                          ": it holds every unit");
  }
  core_options_.prefetch_staging_slots = static_cast<uint32_t>(std::max<uint64_t>(1, slots / 8));
  core_options_.staging_slots = static_cast<uint32_t>(slots) - core_options_.prefetch_staging_slots;
  *bytes = slots * largest;
  return Status();
}

// An arena whose size was left open takes as much as makes all units resident, as far as the
// memory goes that `taken` and the rings leave. Several host cards share one machine.
Status Engine::PlanArenas(uint64_t taken) {
  // Two waves, but never more than there are units.
  const uint32_t ring =
      options_.ring_units > 0
          ? options_.ring_units
          : static_cast<uint32_t>(std::min<uint64_t>(2ull * options_.chunk, catalog_->units()));
  // Pages of the program, tables of the kernel: what the sum of parts does not see.
  const uint64_t spare = available_bytes_ / 20;
  for (uint32_t c = 0; c < cards_.size(); ++c) {
    arena::ArenaRequest request;
    request.card = options_.cards[c].device;
    request.classes = ClassesOf(*catalog_, core_options_.card_of_unit, c);
    request.ring_units = ring;
    request.top_k = catalog_->top_k();
    request.arena_bytes = options_.cards[c].arena_bytes;
    if (request.arena_bytes == 0) {
      uint64_t all = 0, largest = 0;
      for (const arena::ArenaClass& k : request.classes) {
        all += static_cast<uint64_t>(k.units) * AlignUp(k.unit_bytes, kCardAlign);
        largest = std::max(largest, AlignUp(k.unit_bytes, kCardAlign));
      }
      uint64_t room = cards_[c].device->free_bytes();
      if (IsHostDevice(request.card)) {
        const uint64_t left =
            available_bytes_ > taken + spare ? available_bytes_ - taken - spare : 0;
        room = std::min(room, left / cards_.size());
      }
      const uint64_t ring_bytes = largest * ring;
      request.automatic = true;
      request.memory_bytes = room;
      request.arena_bytes = std::min(all, room > ring_bytes ? room - ring_bytes : 0);
    }
    BERTH_ASSIGN_OR_RETURN(arena::ArenaPlan plan, arena::PlanArena(request));
    scheduler::CardOptions card;
    for (const arena::SlotClassPlan& k : plan.arena.classes) card.class_slots.push_back(k.slots);
    card.ring_slots = plan.ring_slots;
    core_options_.cards.push_back(std::move(card));
    arena_plans_.push_back(std::move(plan));
  }
  return Status();
}

// Places of steps, and scratch of the compute streams: per pair the input of its down projection.
uint64_t Engine::WorkspaceBytes() const {
  const uint64_t pairs = static_cast<uint64_t>(options_.max_rows) * shape_.top_k;
  if (!options_.compute) return pairs * sizeof(int32_t) * core_options_.max_tickets;
  uint64_t max_ffn = 0;
  for (uint32_t l = 0; l < catalog_->layers(); ++l) {
    max_ffn = std::max<uint64_t>(max_ffn, catalog_->layer(l).spec.ffn);
  }
  const uint64_t place = pairs * (sizeof(int32_t) + sizeof(float)) +
                         static_cast<uint64_t>(options_.max_rows) * shape_.hidden * sizeof(float) +
                         pairs * shape_.hidden * sizeof(float) +
                         std::min<uint64_t>(pairs, shape_.experts) * sizeof(kernels::WaveUnit);
  return place * core_options_.max_tickets + pairs * max_ffn * sizeof(float) * cards_.size();
}

// The engine's own tables: the options and geometry it keeps, reads, leases, pointer tables.
uint64_t Engine::BooksBytes() const {
  const scheduler::Geometry& g = core_options_.geometry;
  const uint64_t geometry = g.extent_read_bytes.size() * sizeof(uint32_t) + g.unit_drive.size() +
                            core_options_.card_of_unit.size();
  const uint64_t reads = static_cast<uint64_t>(core_options_.max_reads) * g.drives;
  const uint64_t tables = static_cast<uint64_t>(g.units()) * sizeof(void*) * cards_.size();
  const uint64_t leases = static_cast<uint64_t>(kMaxLeases) * kMaxLeaseUnits * sizeof(UnitIndex);
  return geometry + tables + leases +
         reads * (sizeof(ReadRecord) + sizeof(ArrivedUnit) + sizeof(io::ReadRequest));
}

}  // namespace berth
