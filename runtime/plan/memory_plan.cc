#include "runtime/plan/memory_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "arena/budget.h"
#include "kernels/exact/isa.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/expert/host_expert.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/plan/card_plan.h"
#include "runtime/simulate/miss_costs.h"

namespace berth {
namespace {

constexpr uint64_t kLeastStagingBytes = 64u << 20;
constexpr uint32_t kMaxLeases = 64;
constexpr uint32_t kMaxLeaseUnits = 512;
constexpr uint32_t kMaxTickets = 1u << 16;

class Planner {
 public:
  explicit Planner(const PlanInputs& inputs)
      : inputs_(inputs),
        options_(*inputs.options),
        model_(*inputs.model),
        geometry_(model_.geometry) {}

  Result<MemoryPlan> Plan();

 private:
  void PlaceUnits();
  void SetCoreOptions();
  void SetMisses();
  Status PlanHostTier();
  Status PlanStaging();
  Status PlanArenas(uint64_t taken);
  arena::ArenaRequest ArenaOf(uint32_t card, uint32_t ring, uint64_t taken) const;
  std::vector<arena::ArenaClass> ClassesOf(uint32_t card) const;
  uint64_t WorkspaceBytes() const;
  uint64_t BooksBytes() const;

  const PlanInputs& inputs_;
  const RuntimeOptions& options_;
  const ModelSizes& model_;
  const scheduler::Geometry& geometry_;
  kernels::Arithmetic arithmetic_;
  MemoryPlan plan_;
};

Result<MemoryPlan> Planner::Plan() {
  BERTH_ASSIGN_OR_RETURN(arithmetic_, ArithmeticOf(options_));
  plan_.core.geometry = geometry_;
  PlaceUnits();
  SetCoreOptions();
  BERTH_RETURN_IF_ERROR(PlanHostTier());
  BERTH_RETURN_IF_ERROR(PlanStaging());
  SetMisses();
  plan_.workspace_bytes = WorkspaceBytes();
  plan_.books_bytes = BooksBytes();
  const uint64_t work =
      plan_.workspace_bytes + scheduler::Core::PlannedBytes(plan_.core) + plan_.books_bytes;
  std::vector<arena::BudgetItem> items = {
      {"host tier", plan_.host_tier_bytes, "--host-tier", 1, 0},
      {"staging", plan_.staging_bytes, "--staging", 1, 2 * model_.largest_host_slot()},
      {"workspace and books", work, "max_rows (--streams, --window)",
       std::max<uint64_t>(1, work / options_.max_rows)}};
  uint64_t taken = 0;
  for (const arena::BudgetItem& item : items) taken += item.bytes;
  plan_.compute_stream = ComputeStreamOf(options_, model_);
  for (const CardConfig& card : options_.cards) {
    plan_.card_extra_bytes.push_back(CardExtraBytes(options_, model_, card));
  }
  BERTH_RETURN_IF_ERROR(PlanArenas(taken));
  for (size_t c = 0; c < options_.cards.size(); ++c) {
    if (!IsHostDevice(options_.cards[c].device)) continue;
    const arena::ArenaPlan& plan = plan_.arenas[c];
    items.push_back({"arena of " + options_.cards[c].device, plan.arena.used_bytes, "--arena", 1,
                     plan.arena.minimum_bytes});
    items.push_back({"ring of " + options_.cards[c].device, plan.ring_bytes(), "--ring",
                     std::max<uint64_t>(1, plan.ring_slot_bytes)});
  }
  BERTH_RETURN_IF_ERROR(arena::CheckBudget(items, inputs_.available_bytes));
  return std::move(plan_);
}

// Expert-parallel by number: neighbours of a token's experts spread over the cards.
void Planner::PlaceUnits() {
  plan_.core.card_of_unit.resize(geometry_.units());
  for (UnitIndex u = 0; u < geometry_.units(); ++u) {
    plan_.core.card_of_unit[u] =
        static_cast<uint8_t>(u % geometry_.experts % options_.cards.size());
  }
}

void Planner::SetCoreOptions() {
  scheduler::CoreOptions& core = plan_.core;
  core.policy = options_.policy;
  core.heat = options_.heat;
  core.sharing = static_cast<scheduler::CoreOptions::Sharing>(options_.slots);
  core.chunk = options_.chunk;
  core.sweep_rows = options_.sweep_rows;
  core.sweep_share = options_.sweep_share;
  core.seed = options_.seed;
  core.host_exclusive = options_.host_exclusive;
  core.host_policy = options_.host_policy;
  core.read_bytes_in_flight = options_.read_bytes_in_flight;
  // A demand that finds one unit before it waits at most as long again as it takes alone.
  const uint64_t largest = model_.largest_host_slot();
  core.prefetch_read_bytes_in_flight =
      options_.prefetch_read_bytes_in_flight > 0 ? options_.prefetch_read_bytes_in_flight : largest;
  core.prefetch_copy_bytes_in_flight = largest;
  core.max_tickets = options_.max_sessions * options_.max_in_flight;
  core.max_rows = options_.max_rows;
  core.max_leases = kMaxLeases;
  core.max_lease_units = kMaxLeaseUnits;
}

void Planner::SetMisses() {
  scheduler::CoreOptions& core = plan_.core;
  const bool in_place = options_.miss == MissChoice::kInPlace;
  core.miss = in_place ? scheduler::CoreOptions::Miss::kHost
                       : static_cast<scheduler::CoreOptions::Miss>(options_.miss);
  core.exact_rows = in_place ? options_.max_rows : options_.exact_rows;
  if (options_.miss == MissChoice::kStage) return;
  // Without a host tier they hold staging slots that demand needs.
  if (options_.host_tier_bytes == 0) {
    core.max_behind = std::min(core.max_behind, std::max(1u, core.staging_slots / 2));
  }
  if (in_place) return;  // the core goes without costs: loads behind a step are for the link to do
  if (inputs_.profile == nullptr || inputs_.profile->host.compute.empty()) {
    plan_.notes.push_back(
        "no profile says how fast the host computes units: 20 GB/s are assumed for misses");
  }
  core.miss_costs = MissCostsOf(inputs_.profile == nullptr ? MachineProfile() : *inputs_.profile,
                                options_.cards, core);
}

Status Planner::PlanHostTier() {
  if (options_.host_tier_bytes == 0) return Status();
  std::vector<arena::ArenaClass> classes;
  for (const SlotBytes& c : model_.class_slot_bytes) classes.push_back({c.host, 0, 0});
  for (uint32_t l = 0; l < geometry_.layers; ++l) {
    classes[geometry_.layer_class[l]].units += geometry_.experts;
  }
  BERTH_ASSIGN_OR_RETURN(const arena::SlotPlan plan,
                         arena::PlanSlots(classes, options_.host_tier_bytes));
  if (std::string note = arena::HostTierNote(plan, options_.host_tier_bytes); !note.empty()) {
    plan_.notes.push_back(std::move(note));
  }
  for (const arena::SlotClassPlan& c : plan.classes) {
    plan_.core.host_class_slots.push_back(c.slots);
    if (c.slots == 0 && plan.slots > 0) {
      plan_.notes.push_back("host tier: no slot for units of " + FormatBytes(c.slot_bytes) +
                            ": raise --host-tier");
    }
  }
  plan_.host_tier_bytes = plan.used_bytes;
  return Status();
}

Status Planner::PlanStaging() {
  const uint64_t largest = model_.largest_host_slot();
  const uint64_t wanted =
      options_.staging_bytes > 0
          ? options_.staging_bytes
          : std::max<uint64_t>(4ull * options_.chunk * largest, kLeastStagingBytes);
  const uint64_t useful = static_cast<uint64_t>(geometry_.units()) + 2;
  const uint64_t slots = std::min<uint64_t>(wanted / largest, useful);
  if (slots < 2) {
    return InvalidArgumentError("--staging of " + std::to_string(wanted) +
                                " bytes holds fewer than two units: raise it to at least " +
                                std::to_string(2 * largest));
  }
  if (options_.staging_bytes > 0 && wanted / largest > useful) {
    plan_.notes.push_back("staging lowered to " + FormatBytes(slots * largest) +
                          ": it holds every unit");
  }
  plan_.core.prefetch_staging_slots = static_cast<uint32_t>(std::max<uint64_t>(1, slots / 8));
  plan_.core.staging_slots = static_cast<uint32_t>(slots) - plan_.core.prefetch_staging_slots;
  plan_.staging_bytes = slots * largest;
  return Status();
}

// Units of each size class that are placed on the card.
std::vector<arena::ArenaClass> Planner::ClassesOf(uint32_t card) const {
  std::vector<arena::ArenaClass> classes;
  for (const SlotBytes& c : model_.class_slot_bytes) classes.push_back({c.card, 0, 0});
  for (UnitIndex u = 0; u < geometry_.units(); ++u) {
    if (plan_.core.card_of_unit[u] == card) ++classes[geometry_.class_of(u)].units;
  }
  return classes;
}

// Several host cards share one machine.
arena::ArenaRequest Planner::ArenaOf(uint32_t card, uint32_t ring, uint64_t taken) const {
  // Pages of the program, tables of the kernel: what the sum of parts does not see.
  const uint64_t spare = inputs_.available_bytes / 20;
  arena::ArenaRequest request;
  request.card = options_.cards[card].device;
  request.classes = ClassesOf(card);
  request.ring_units = ring;
  request.top_k = geometry_.top_k;
  request.arena_bytes = options_.cards[card].arena_bytes;
  if (request.arena_bytes > 0) return request;
  uint64_t all = 0, largest = 0;
  for (const arena::ArenaClass& k : request.classes) {
    all += static_cast<uint64_t>(k.units) * AlignUp(k.unit_bytes, kCardAlign);
    largest = std::max(largest, AlignUp(k.unit_bytes, kCardAlign));
  }
  const uint64_t free = inputs_.card_free_bytes[card], extra = plan_.card_extra_bytes[card];
  uint64_t room = free > extra ? free - extra : 0;
  if (IsHostDevice(request.card)) {
    const uint64_t left =
        inputs_.available_bytes > taken + spare ? inputs_.available_bytes - taken - spare : 0;
    room = std::min(room, left / options_.cards.size());
  }
  const uint64_t ring_bytes = largest * ring;
  request.automatic = true;
  request.memory_bytes = room;
  request.arena_bytes = std::min(all, room > ring_bytes ? room - ring_bytes : 0);
  return request;
}

// `taken`: what host memory is planned for besides.
Status Planner::PlanArenas(uint64_t taken) {
  // Two waves, but never more than there are units.
  const uint32_t ring =
      options_.ring_units > 0
          ? options_.ring_units
          : static_cast<uint32_t>(std::min<uint64_t>(2ull * options_.chunk, geometry_.units()));
  for (uint32_t c = 0; c < options_.cards.size(); ++c) {
    BERTH_ASSIGN_OR_RETURN(arena::ArenaPlan plan, arena::PlanArena(ArenaOf(c, ring, taken)));
    scheduler::CardOptions card;
    for (const arena::SlotClassPlan& k : plan.arena.classes) card.class_slots.push_back(k.slots);
    card.ring_slots = plan.ring_slots;
    plan_.core.cards.push_back(std::move(card));
    plan_.arenas.push_back(std::move(plan));
    BERTH_RETURN_IF_ERROR(CheckCardFits(options_.cards[c], plan_.arenas[c],
                                        plan_.card_extra_bytes[c], inputs_.card_free_bytes[c]));
  }
  return Status();
}

// Places of steps, and scratch of the compute streams.
uint64_t Planner::WorkspaceBytes() const {
  const uint64_t pairs = static_cast<uint64_t>(options_.max_rows) * geometry_.top_k;
  if (!options_.compute) return pairs * sizeof(int32_t) * plan_.core.max_tickets;
  const uint64_t rows = static_cast<uint64_t>(options_.max_rows) * model_.hidden * sizeof(float);
  // Sums that a card makes where it reaches them are copied out to the caller.
  const uint64_t staged = IsHostDevice(options_.cards[0].device) ? 0 : rows;
  const uint64_t partials = PartialsOnCard(options_) ? 0 : pairs * model_.hidden * sizeof(float);
  const uint64_t place = pairs * (sizeof(int32_t) + sizeof(float) + sizeof(uint32_t)) + rows +
                         staged + partials +
                         std::min<uint64_t>(pairs, geometry_.experts) * sizeof(kernels::WaveUnit);
  const uint64_t scratch = kernels::HostExpertWorkspace::PlannedBytes(
      inputs_.threads, model_.hidden, model_.max_ffn, static_cast<uint32_t>(pairs), arithmetic_);
  const auto on_host = [](const CardConfig& card) { return IsHostDevice(card.device); };
  const uint64_t streams =
      static_cast<uint64_t>(std::count_if(options_.cards.begin(), options_.cards.end(), on_host)) +
      (HostComputes(options_) ? 1 : 0);
  return place * plan_.core.max_tickets + scratch * streams;
}

// A driver's own tables: the options and geometry it keeps, reads, leases, pointer tables.
uint64_t Planner::BooksBytes() const {
  const uint64_t geometry = geometry_.extent_read_bytes.size() * sizeof(uint32_t) +
                            geometry_.unit_drive.size() + plan_.core.card_of_unit.size();
  const uint64_t reads = static_cast<uint64_t>(plan_.core.max_reads) * geometry_.drives;
  const uint64_t tables =
      static_cast<uint64_t>(geometry_.units()) * sizeof(void*) * options_.cards.size();
  const uint64_t leases = static_cast<uint64_t>(kMaxLeases) * kMaxLeaseUnits * sizeof(UnitIndex);
  return geometry + tables + leases + reads * kBytesPerRead;
}

}  // namespace

Result<kernels::Arithmetic> ArithmeticOf(const RuntimeOptions& options) {
  kernels::Arithmetic arithmetic;
  Result<kernels::ArithmeticMode> mode = kernels::ParseArithmeticMode(options.arithmetic);
  if (!mode.ok()) return mode.status().Annotate("--arithmetic");
  arithmetic.mode = *mode;
  arithmetic.exact_rows = options.exact_rows;
  if (options.exact_rows > kernels::kMostExactRows) {
    return InvalidArgumentError("--exact-rows must be at most " +
                                std::to_string(kernels::kMostExactRows));
  }
  return arithmetic;
}

Status CheckRuntimeOptions(const RuntimeOptions& o) {
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
  std::set<std::string> names;
  for (const CardConfig& card : o.cards) {
    const bool whole = card.device.find(':') != std::string::npos;
    if (!names.insert(whole ? card.device : card.device + ":0").second) {
      return InvalidArgumentError("--device " + card.device + " is given twice");
    }
    if (card.copy_path != "engine" && card.copy_path != "kernel") {
      return InvalidArgumentError("copy_path '" + card.copy_path + "': engine or kernel");
    }
    if (card.copy_path == "kernel" && IsHostDevice(card.device)) {
      return InvalidArgumentError("--copy-path kernel: " + card.device +
                                  " is a host card, whose copies are the processor's");
    }
  }
  BERTH_RETURN_IF_ERROR(ArithmeticOf(o).status());
  if (o.isa != "auto") {
    const Result<kernels::Isa> isa = kernels::ParseIsa(o.isa);
    if (!isa.ok()) return isa.status().Annotate("--isa");
  }
  if (HostComputes(o) && o.exact_rows == 0) {
    return InvalidArgumentError(
        "--miss host or auto with --exact-rows 0: the host computes exact units only");
  }
  if (o.preload && o.heat.empty()) {
    return InvalidArgumentError("preload: there is no heat that says what to load");
  }
  if (!(o.sweep_share > 0 && o.sweep_share <= 1)) {
    return InvalidArgumentError("--sweep-share must be above 0 and at most 1");
  }
  return Status();
}

Result<MemoryPlan> PlanMemory(const PlanInputs& inputs) { return Planner(inputs).Plan(); }

RuntimeInfo PlannedInfo(const RuntimeOptions& options, const MemoryPlan& plan) {
  RuntimeInfo info;
  for (size_t c = 0; c < plan.arenas.size(); ++c) {
    const arena::ArenaPlan& arena = plan.arenas[c];
    CardInfo card;
    card.device = options.cards[c].device;
    if (!IsHostDevice(card.device)) card.copy_path = options.cards[c].copy_path;
    card.arena_bytes = arena.arena.used_bytes;
    card.arena_slots = arena.arena.slots;
    card.class_slots = plan.core.cards[c].class_slots;
    card.ring_slots = arena.ring_slots;
    info.memory.arena_bytes += arena.arena.used_bytes;
    info.memory.ring_bytes += arena.ring_bytes();
    info.cards.push_back(std::move(card));
  }
  info.host_class_slots = plan.core.host_class_slots;
  info.staging_slots = plan.core.staging_slots + plan.core.prefetch_staging_slots;
  info.notes = plan.notes;
  if (const Result<kernels::Arithmetic> arithmetic = ArithmeticOf(options); arithmetic.ok()) {
    info.arithmetic = kernels::ArithmeticName(*arithmetic);
  }
  return info;
}

}  // namespace berth
