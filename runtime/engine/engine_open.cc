// Engine: opening. Plans every size, checks the sum against the machine once, then allocates.
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
constexpr uint32_t kMaxTickets = 1u << 16;

Status CheckOptions(const RuntimeOptions& o) {
  const auto at_least_one = [](uint32_t value, const char* name) {
    return value > 0 ? Status() : InvalidArgumentError(std::string(name) + " must be at least 1");
  };
  BERTH_RETURN_IF_ERROR(at_least_one(o.max_rows, "max_rows"));
  BERTH_RETURN_IF_ERROR(at_least_one(o.max_sessions, "max_sessions"));
  BERTH_RETURN_IF_ERROR(at_least_one(o.max_in_flight, "max_in_flight"));
  BERTH_RETURN_IF_ERROR(at_least_one(o.chunk, "--chunk"));
  if (static_cast<uint64_t>(o.max_sessions) * o.max_in_flight > kMaxTickets) {
    return InvalidArgumentError("max_sessions x max_in_flight must be at most " +
                                std::to_string(kMaxTickets) + " steps");
  }
  if (o.cards.empty()) return InvalidArgumentError("no card: give at least one --device");
  if (o.cards.size() > 64) return InvalidArgumentError("more than 64 cards");
  if (!(o.sweep_share > 0 && o.sweep_share <= 1)) {
    return InvalidArgumentError("sweep_share must be above 0 and at most 1");
  }
  return Status();
}

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

}  // namespace

Result<std::unique_ptr<Catalog>> Engine::ReadModel(const RuntimeOptions& options) {
  CatalogOptions catalog_options;
  catalog_options.conventions = options.conventions;
  return Catalog::Open(options.model, catalog_options);
}

ModelShape Engine::ShapeOf(const Catalog& catalog) {
  ModelShape shape = {catalog.layers(), catalog.experts(), catalog.top_k(), catalog.hidden(), {}};
  for (uint32_t l = 0; l < catalog.layers(); ++l) shape.blocks.push_back(catalog.layer(l).block);
  return shape;
}

Result<std::unique_ptr<Engine>> Engine::Open(const RuntimeOptions& options,
                                             const EngineHooks& hooks) {
  BERTH_RETURN_IF_ERROR(CheckOptions(options));
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Catalog> catalog, ReadModel(options));
  return Open(options, std::move(catalog), hooks);
}

Result<std::unique_ptr<Engine>> Engine::Open(const RuntimeOptions& options,
                                             std::unique_ptr<Catalog> catalog,
                                             const EngineHooks& hooks) {
  BERTH_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<Engine> engine(new Engine(options));
  engine->catalog_ = std::move(catalog);
  engine->shape_ = ShapeOf(*engine->catalog_);
  engine->checksums_ = options.verify_checksums && engine->catalog_->has_checksums();
  BERTH_RETURN_IF_ERROR(engine->OpenCards());
  BERTH_RETURN_IF_ERROR(engine->PlanMemory());
  BERTH_RETURN_IF_ERROR(engine->AllocateCards());
  BERTH_RETURN_IF_ERROR(engine->OpenReads(hooks));
  BERTH_RETURN_IF_ERROR(engine->MakeStreams());
  engine->FillInfo();
  return engine;
}

Status Engine::OpenCards() {
  for (const CardConfig& config : options_.cards) {
    for (const Card& card : cards_) {
      if (card.device->info().name == config.device) {
        return InvalidArgumentError("--device " + config.device + " is given twice");
      }
    }
    kernels::DeviceOptions device;
    device.name = config.device;
    device.memory_bytes = config.memory_bytes;
    device.link_bytes_per_s = config.link_bytes_per_s;
    device.threads = options_.threads;
    Card card;
    BERTH_ASSIGN_OR_RETURN(card.device, kernels::OpenDevice(device));
    cards_.push_back(std::move(card));
  }
  return Status();
}

// As much as makes all units resident, as far as the card's memory goes. Several host cards share
// one machine.
uint64_t Engine::AutoArenaBytes(uint32_t card, const arena::ArenaRequest& request) const {
  uint64_t all = 0, largest = 0;
  for (const arena::ArenaClass& c : request.classes) {
    all += static_cast<uint64_t>(c.units) * AlignUp(c.unit_bytes, kCardAlign);
    largest = std::max(largest, AlignUp(c.unit_bytes, kCardAlign));
  }
  const kernels::Device& device = *cards_[card].device;
  uint64_t free = device.free_bytes();
  if (options_.cards[card].memory_bytes == 0) free /= cards_.size();
  const uint64_t ring = largest * request.ring_units;
  return std::min(all, free > ring ? free - ring : 0);
}

Status Engine::PlanMemory() {
  const Catalog& catalog = *catalog_;
  core_options_.geometry = GeometryOf(catalog);
  core_options_.card_of_unit.resize(catalog.units());
  for (UnitIndex u = 0; u < catalog.units(); ++u) {
    // Expert-parallel by number: neighbours of a token's experts spread over the cards.
    core_options_.card_of_unit[u] =
        static_cast<uint8_t>(catalog.ref(u).expert % options_.cards.size());
  }
  // Two waves, but never more than there are units.
  const uint32_t ring =
      options_.ring_units > 0
          ? options_.ring_units
          : static_cast<uint32_t>(std::min<uint64_t>(2ull * options_.chunk, catalog.units()));
  for (uint32_t c = 0; c < cards_.size(); ++c) {
    arena::ArenaRequest request;
    request.card = options_.cards[c].device;
    request.classes = ClassesOf(catalog, core_options_.card_of_unit, c);
    request.ring_units = ring;
    request.top_k = catalog.top_k();
    request.arena_bytes = options_.cards[c].arena_bytes > 0 ? options_.cards[c].arena_bytes
                                                            : AutoArenaBytes(c, request);
    BERTH_ASSIGN_OR_RETURN(arena::ArenaPlan plan, arena::PlanArena(request));
    scheduler::CardOptions card;
    for (const arena::SlotClassPlan& k : plan.arena.classes) card.class_slots.push_back(k.slots);
    card.ring_slots = plan.ring_slots;
    core_options_.cards.push_back(std::move(card));
    arena_plans_.push_back(std::move(plan));
  }

  std::vector<arena::ArenaClass> host_classes;
  uint64_t largest = 0;
  for (const SizeClass& c : catalog.size_classes()) {
    host_classes.push_back(
        {c.host_bytes, static_cast<uint32_t>(c.layers.size()) * catalog.experts(), 0});
    largest = std::max(largest, c.host_bytes);
  }
  uint64_t host_bytes = 0;
  if (options_.host_tier_bytes > 0) {
    BERTH_ASSIGN_OR_RETURN(const arena::SlotPlan plan,
                           arena::PlanSlots(host_classes, options_.host_tier_bytes));
    for (const arena::SlotClassPlan& k : plan.classes) {
      core_options_.host_class_slots.push_back(k.slots);
    }
    host_bytes = plan.used_bytes;
  }
  const uint64_t staging =
      options_.staging_bytes > 0
          ? options_.staging_bytes
          : std::max<uint64_t>(4ull * options_.chunk * largest, kLeastStagingBytes);
  const uint64_t slots = std::min<uint64_t>(staging / largest, catalog.units() + 2);
  if (slots < 2) {
    return InvalidArgumentError("staging of " + FormatBytes(staging) +
                                " holds fewer than two units: raise staging_bytes to " +
                                FormatBytes(2 * largest));
  }
  core_options_.prefetch_staging_slots = static_cast<uint32_t>(std::max<uint64_t>(1, slots / 8));
  core_options_.staging_slots = static_cast<uint32_t>(slots) - core_options_.prefetch_staging_slots;

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
  core_options_.prefetch_read_bytes_in_flight =
      options_.prefetch_read_bytes_in_flight > 0 ? options_.prefetch_read_bytes_in_flight : largest;
  core_options_.prefetch_copy_bytes_in_flight = largest;
  core_options_.max_tickets = options_.max_sessions * options_.max_in_flight;
  core_options_.max_rows = options_.max_rows;
  core_options_.max_leases = kMaxLeases;
  core_options_.max_lease_units = kMaxLeaseUnits;
  return CheckBudget(host_bytes, slots * largest);
}

uint64_t Engine::PlacesBytes() const {
  const uint64_t pairs = static_cast<uint64_t>(options_.max_rows) * shape_.top_k;
  uint64_t bytes = pairs * sizeof(int32_t);
  if (options_.compute) {
    bytes += pairs * sizeof(float) +
             static_cast<uint64_t>(options_.max_rows) * shape_.hidden * sizeof(float) +
             pairs * shape_.hidden * sizeof(float) +
             std::min<uint64_t>(pairs, shape_.experts) * sizeof(kernels::WaveUnit);
  }
  return bytes * core_options_.max_tickets;
}

Status Engine::CheckBudget(uint64_t host_tier, uint64_t staging) {
  std::vector<arena::BudgetItem> items = {{"host tier", host_tier, "--host-tier"},
                                          {"staging", staging, "--chunk"},
                                          {"workspace", PlacesBytes(), "max_rows"}};
  for (size_t c = 0; c < cards_.size(); ++c) {
    // A host card's memory is the machine's.
    if (cards_[c].device->info().backend != "host") continue;
    const std::string& name = options_.cards[c].device;
    items.push_back({"arena of " + name, arena_plans_[c].arena.used_bytes, "--arena"});
    items.push_back({"ring of " + name, arena_plans_[c].ring_bytes(), "--ring"});
  }
  BERTH_ASSIGN_OR_RETURN(const uint64_t available, arena::AvailableHostBytes());
  return arena::CheckBudget(items, available);
}

Status Engine::AllocateCards() {
  for (size_t c = 0; c < cards_.size(); ++c) {
    BERTH_ASSIGN_OR_RETURN(cards_[c].arena,
                           arena::CardArena::Create(cards_[c].device.get(), arena_plans_[c]));
    BERTH_RETURN_IF_ERROR(cards_[c].device->CreateTable(catalog_->units()));
  }
  return Status();
}

Status Engine::OpenReads(const EngineHooks& hooks) {
  BERTH_ASSIGN_OR_RETURN(host_, HostLayout::Create(catalog_.get(), core_options_.host_class_slots,
                                                   core_options_.staging_slots +
                                                       core_options_.prefetch_staging_slots));
  const uint32_t outstanding = core_options_.max_reads * core_options_.geometry.drives;
  io::StorageOptions storage;
  for (const ModelFile& file : catalog_->files()) storage.paths.push_back(file.path);
  storage.buffers = host_.regions();
  storage.max_outstanding = outstanding;
  storage.engine = options_.io_engine;
  storage.strict = options_.io_strict;
  storage.sink = this;
  {
    MutexLock lock(&mutex_);
    reads_.resize(outstanding);
    for (uint32_t r = outstanding; r > 0; --r) free_reads_.push_back(r - 1);
    extents_left_.resize(host_.slot_count());
    leases_.resize(kMaxLeases);
    for (LeasePlace& lease : leases_) lease.units.reserve(kMaxLeaseUnits);
    session_open_.resize(options_.max_sessions);
    BERTH_ASSIGN_OR_RETURN(core_, scheduler::Core::Create(core_options_, this));
  }
  if (checksums_) {
    // make_unique could not see the private base.
    checksum_worker_.reset(new ChecksumWorker(catalog_.get(), &host_, outstanding, this));
  }
  BERTH_ASSIGN_OR_RETURN(storage_, hooks.open_storage(storage));
  for (const io::BufferRegion& region : host_.regions()) {
    registered_.push_back(region);  // before: what the first cards took goes back on an error too
    for (Card& card : cards_) {
      BERTH_RETURN_IF_ERROR(card.device->RegisterHost(region.begin, region.bytes));
    }
  }
  return Status();
}

// One stream per purpose, so that a withdrawal from the table does not wait behind copies nor a
// copy behind math. Queues hold all that can be under way, twice: the work and its notice.
Status Engine::MakeStreams() {
  const uint32_t live = scheduler::Core::MaxLiveUnits(core_options_);
  uint32_t max_ffn = 0;
  for (uint32_t l = 0; l < catalog_->layers(); ++l) {
    max_ffn = std::max(max_ffn, catalog_->layer(l).spec.ffn);
  }
  const auto make = [&](Card& card, const char* name, uint32_t entries, kernels::StreamSink* sink,
                        bool compute, std::unique_ptr<kernels::Stream>* stream) -> Status {
    kernels::StreamOptions options;
    options.name = card.device->info().name + " " + name;
    options.capacity = 2 * entries + 8;
    options.sink = sink;
    if (compute && options_.compute) {
      options.max_hidden = catalog_->hidden();
      options.max_ffn = max_ffn;
      options.max_pairs = options_.max_rows * catalog_->top_k();
    }
    BERTH_ASSIGN_OR_RETURN(*stream, card.device->CreateStream(options));
    return Status();
  };
  for (Card& card : cards_) {
    BERTH_RETURN_IF_ERROR(
        make(card, "copy in", core_options_.max_copies, &copy_in_port_, false, &card.copy_in));
    BERTH_RETURN_IF_ERROR(
        make(card, "copy out", core_options_.max_copies, &copy_out_port_, false, &card.copy_out));
    BERTH_RETURN_IF_ERROR(make(card, "table", 2 * live, &table_port_, false, &card.table));
    BERTH_RETURN_IF_ERROR(make(card, "compute", live + 2 * core_options_.max_tickets, &wave_port_,
                               true, &card.compute));
  }
  BERTH_RETURN_IF_ERROR(
      make(cards_[0], "reduce", core_options_.max_tickets, &reduce_port_, false, &reduce_));
  places_.reserve(core_options_.max_tickets);
  for (uint32_t p = 0; p < core_options_.max_tickets; ++p) {
    places_.emplace_back(options_.max_rows, shape_.top_k, shape_.hidden, shape_.experts,
                         options_.compute);
  }
  return Status();
}

void Engine::FillInfo() {
  MutexLock lock(&mutex_);
  for (size_t c = 0; c < cards_.size(); ++c) {
    const arena::ArenaPlan& plan = arena_plans_[c];
    CardInfo card;
    card.device = options_.cards[c].device;
    card.arena_bytes = plan.arena.used_bytes;
    card.arena_slots = plan.arena.slots;
    card.class_slots = core_options_.cards[c].class_slots;
    card.ring_slots = plan.ring_slots;
    info_.memory.arena_bytes += plan.arena.used_bytes;
    info_.memory.ring_bytes += plan.ring_bytes();
    info_.memory.workspace_bytes += cards_[c].device->workspace_bytes();
    info_.cards.push_back(std::move(card));
  }
  info_.host_class_slots = core_options_.host_class_slots;
  info_.staging_slots = core_options_.staging_slots + core_options_.prefetch_staging_slots;
  info_.chunk = core_->chunk();
  info_.io_rung = io::RungName(storage_->info().rung);
  info_.io_reason = storage_->info().reason;
  info_.memory.host_tier_bytes = host_.tier_bytes();
  info_.memory.staging_bytes = host_.staging_bytes();
  for (const StepPlace& place : places_) info_.memory.workspace_bytes += place.bytes();
  info_.memory.books_bytes = core_->resident_bytes();
  info_.memory.catalog_bytes = catalog_->resident_bytes();
  info_.notes = core_->notes();
  for (std::string& note : host_.notes()) info_.notes.push_back(std::move(note));
}

}  // namespace berth
