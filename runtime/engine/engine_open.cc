// Engine: opening. Plans every size, checks the sum against the machine once, then allocates.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "arena/topology.h"
#include "kernels/host/worker_pool.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/sizes_of.h"

namespace berth {

Result<std::unique_ptr<Catalog>> Engine::ReadModel(const RuntimeOptions& options) {
  CatalogOptions catalog_options;
  catalog_options.conventions = options.conventions;
  catalog_options.ignore_sidecar = !options.verify_checksums;
  return Catalog::Open(options.model, catalog_options);
}

ModelShape Engine::ShapeOf(const Catalog& catalog) {
  ModelShape shape = {
      catalog.layers(), catalog.experts(), catalog.top_k(), catalog.hidden(), {}, {}};
  for (uint32_t l = 0; l < catalog.layers(); ++l) {
    shape.blocks.push_back(catalog.layer(l).block);
    uint64_t bytes = 0;
    for (const Extent& extent : catalog.extents(catalog.unit({l, 0}))) bytes += extent.bytes;
    shape.unit_bytes.push_back(bytes);
  }
  return shape;
}

Result<std::unique_ptr<Engine>> Engine::Open(const RuntimeOptions& options,
                                             const EngineHooks& hooks) {
  BERTH_RETURN_IF_ERROR(CheckRuntimeOptions(options));
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Catalog> catalog, ReadModel(options));
  return Open(options, std::move(catalog), hooks);
}

Result<std::unique_ptr<Engine>> Engine::Open(const RuntimeOptions& options,
                                             std::unique_ptr<Catalog> catalog,
                                             const EngineHooks& hooks) {
  BERTH_RETURN_IF_ERROR(CheckRuntimeOptions(options));
  std::unique_ptr<Engine> engine(new Engine(options));
  engine->catalog_ = std::move(catalog);
  engine->shape_ = ShapeOf(*engine->catalog_);
  engine->MakeUnitLayouts();
  engine->info_.checksums = options.verify_checksums && engine->catalog_->has_checksums();
  try {
    BERTH_RETURN_IF_ERROR(engine->OpenAll(hooks));
  } catch (const std::bad_alloc&) {
    return ResourceExhaustedError("out of memory while opening: lower --arena or --host-tier");
  }
  return engine;
}

void Engine::MakeUnitLayouts() {
  for (uint32_t l = 0; l < catalog_->layers(); ++l) {
    const kernels::ExpertSpec& spec = catalog_->layer(l).spec;
    std::vector<UnitTensor> layout;
    const auto add = [&layout](TensorRole role, const kernels::MatrixSpec& m) {
      if (m.rows > 0) layout.push_back({role, m.type, m.rows, m.cols, m.row_bytes, m.offset});
    };
    add(TensorRole::kGate, spec.gate);
    add(TensorRole::kUp, spec.up);
    add(TensorRole::kDown, spec.down);
    unit_layouts_.push_back(std::move(layout));
  }
}

Status Engine::OpenAll(const EngineHooks& hooks) {
  // The one reading that every size is planned with and held against.
  BERTH_ASSIGN_OR_RETURN(available_bytes_, arena::AvailableHostBytes());
  const arena::Topology topology = arena::ReadTopology();
  info_.machine = topology.Description();
  BERTH_ASSIGN_OR_RETURN(const kernels::DeviceOptions compute, ComputeOptions(topology));
  BERTH_RETURN_IF_ERROR(OpenCards(hooks, compute));
  if (!options_.profile.empty() && (options_.compute || HostComputes(options_))) {
    BERTH_ASSIGN_OR_RETURN(profile_, FindMachineProfile(options_.profile));
  }
  BERTH_RETURN_IF_ERROR(OpenHostCompute(compute));
  ChooseKernels();
  BERTH_RETURN_IF_ERROR(MakePlan());
  BERTH_RETURN_IF_ERROR(AllocateCards());
  BERTH_RETURN_IF_ERROR(OpenReads(hooks));
  BERTH_RETURN_IF_ERROR(MakePlaces());
  BERTH_RETURN_IF_ERROR(MakeStreams());
  FillInfo();
  if (options_.preload) Preload();
  return Status();
}

// What all devices have alike that compute on this machine.
Result<kernels::DeviceOptions> Engine::ComputeOptions(const arena::Topology& topology) const {
  kernels::DeviceOptions device;
  device.threads = options_.threads;
  if (options_.pin_threads) {
    // Workers beyond the last place begin at the first again.
    const uint32_t usable = kernels::UsableProcessors();
    const uint32_t threads = options_.threads > 0 ? std::min(options_.threads, usable) : usable;
    device.processors = topology.PlaceWorkers(threads);
  }
  BERTH_ASSIGN_OR_RETURN(device.arithmetic, ArithmeticOf(options_));
  if (options_.isa != "auto") {
    BERTH_ASSIGN_OR_RETURN(device.isa, kernels::ParseIsa(options_.isa));
  }
  return device;
}

Status Engine::OpenCards(const EngineHooks& hooks, const kernels::DeviceOptions& compute) {
  // F32 is one portable loop, whatever the set.
  if (compute.arithmetic.mode == kernels::ArithmeticMode::kExact) {
    info_.isa = kernels::IsaName(compute.isa);
  }
  for (const CardConfig& config : options_.cards) {
    kernels::DeviceOptions device = compute;
    device.name = config.device;
    device.memory_bytes = config.memory_bytes;
    if (config.memory_bytes == 0 && IsHostDevice(config.device)) {
      device.memory_bytes = std::max<uint64_t>(available_bytes_, 1);
    }
    device.link_bytes_per_s = config.link_bytes_per_s;
    if (config.copy_path == "kernel") device.copy_path = kernels::CopyPath::kKernel;
    Card card;
    BERTH_ASSIGN_OR_RETURN(card.device, hooks.open_device(device));
    const kernels::DeviceInfo& opened = card.device->info();
    if (!opened.model.empty()) {
      info_.notes.push_back(config.device + ": " + opened.model + ", " +
                            FormatBytes(opened.memory_bytes) + " to use");
    }
    if (!opened.note.empty()) info_.notes.push_back(opened.note);
    if (options_.threads > opened.threads && opened.threads > 0) {
      info_.notes.push_back(config.device + ": " + std::to_string(opened.threads) +
                            " threads instead of " + std::to_string(options_.threads));
    }
    card.free_bytes = card.device->free_bytes();
    cards_.push_back(std::move(card));
  }
  return Status();
}

Status Engine::OpenHostCompute(const kernels::DeviceOptions& compute) {
  if (!HostComputes(options_)) return Status();
  if (options_.profile.empty() && options_.miss == MissChoice::kAuto) {
    info_.notes.push_back(
        "misses are split by assumed costs (docs/formats.md): give a --profile of this machine");
  }
  kernels::DeviceOptions device = compute;
  device.name = "host";
  device.memory_bytes = 1;  // units are computed where they lie
  BERTH_ASSIGN_OR_RETURN(host_device_, kernels::OpenDevice(device));
  return Status();
}

Status Engine::MakePlan() {
  const ModelSizes sizes = SizesOf(*catalog_);
  PlanInputs inputs;
  inputs.options = &options_;
  inputs.model = &sizes;
  inputs.profile = &profile_;
  inputs.available_bytes = available_bytes_;
  for (const Card& card : cards_) {
    inputs.threads = std::max(inputs.threads, card.device->info().threads);
  }
  for (const Card& card : cards_) {
    inputs.card_free_bytes.push_back(card.free_bytes - std::min(card.free_bytes, card.short_bytes));
  }
  BERTH_ASSIGN_OR_RETURN(plan_, PlanMemory(inputs));
  return Status();
}

StepSizes Engine::PlaceSizes() const {
  StepSizes sizes = {options_.max_rows, shape_.top_k, shape_.hidden, shape_.experts,
                     options_.compute};
  sizes.partials_on_card = PartialsOnCard(options_);
  sizes.stage_y = cards_[0].device->info().host_memory == kernels::HostMemory::kRegistered;
  return sizes;
}

// A card whose size was left open gives back what it turns out to lack once its slots have been
// written: a driver may promise memory that it does not have.
Status Engine::AllocateCards() {
  for (Card& card : cards_) {
    BERTH_RETURN_IF_ERROR(card.device->CreateTable(catalog_->units()));
    for (uint32_t l = 0; l < catalog_->layers() && options_.compute; ++l) {
      BERTH_RETURN_IF_ERROR(card.device->PrepareLayer(catalog_->layer(l).spec));
    }
  }
  constexpr int kTries = 3;
  for (int i = 1;; ++i) {
    BERTH_RETURN_IF_ERROR(AllocateArenas());
    bool again = false;
    for (size_t c = 0; c < cards_.size(); ++c) {
      const uint64_t lacking = cards_[c].device->ReserveShortfall();
      if (lacking == 0) continue;
      info_.notes.push_back(options_.cards[c].device + ": with its slots written, the card is " +
                            FormatBytes(lacking) + " short of its reserve");
      if (options_.cards[c].arena_bytes > 0) continue;  // asked for: obeyed
      cards_[c].short_bytes += lacking;
      again = true;
    }
    if (!again || i == kTries) return Status();
    for (Card& card : cards_) card.arena.reset();
    BERTH_RETURN_IF_ERROR(MakePlan());
  }
}

Status Engine::AllocateArenas() {
  for (size_t c = 0; c < cards_.size(); ++c) {
    BERTH_ASSIGN_OR_RETURN(cards_[c].arena,
                           arena::CardArena::Create(cards_[c].device.get(), plan_.arenas[c]));
  }
  return Status();
}

Status Engine::Register(std::byte* begin, uint64_t bytes) {
  registered_.push_back({begin, bytes});  // before: what the first cards took goes back on an error
  for (Card& card : cards_) BERTH_RETURN_IF_ERROR(card.device->RegisterHost(begin, bytes));
  return Status();
}

Status Engine::MakePlaces() {
  const StepSizes sizes = PlaceSizes();
  const uint64_t bytes = StepPlace::BytesOf(sizes);
  const uint32_t count = plan_.core.max_tickets;
  arena::HostRegionOptions region;
  region.bytes = bytes * count;
  region.lock = false;  // a driver pins it where there is one
  region.purpose = "steps under way";
  BERTH_ASSIGN_OR_RETURN(place_memory_, arena::HostRegion::Create(region));
  BERTH_RETURN_IF_ERROR(Register(place_memory_.data(), place_memory_.bytes()));
  const uint64_t partial_bytes = PartialBytes(options_, shape_.top_k, shape_.hidden);
  if (sizes.partials_on_card) {
    BERTH_ASSIGN_OR_RETURN(card_partials_,
                           cards_[0].device->Allocate(partial_bytes * count, "partial results"));
  }
  places_.reserve(count);
  for (uint32_t p = 0; p < count; ++p) {
    std::byte* const partials =
        card_partials_ == nullptr ? nullptr : card_partials_->data() + partial_bytes * p;
    places_.emplace_back(sizes, place_memory_.data() + bytes * p,
                         reinterpret_cast<float*>(partials));
  }
  return Status();
}

Status Engine::OpenReads(const EngineHooks& hooks) {
  BERTH_ASSIGN_OR_RETURN(
      host_, HostLayout::Create(catalog_.get(), plan_.core.host_class_slots,
                                plan_.core.staging_slots + plan_.core.prefetch_staging_slots));
  const uint32_t outstanding = plan_.core.max_reads * plan_.core.geometry.drives;
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
    leases_.resize(plan_.core.max_leases);
    for (LeasePlace& lease : leases_) lease.units.reserve(plan_.core.max_lease_units);
    session_open_.resize(options_.max_sessions);
    BERTH_ASSIGN_OR_RETURN(core_, scheduler::Core::Create(plan_.core, this));
  }
  if (info_.checksums) {
    // make_unique could not see the private base.
    checksum_worker_.reset(new ChecksumWorker(catalog_.get(), &host_, outstanding, this));
  }
  BERTH_ASSIGN_OR_RETURN(storage_, hooks.open_storage(storage));
  for (const io::BufferRegion& region : host_.regions()) {
    BERTH_RETURN_IF_ERROR(Register(region.begin, region.bytes));
  }
  return Status();
}

// One stream per purpose, so that a withdrawal from the table does not wait behind copies nor a
// copy behind math. Queues hold all that can be under way, twice: the work and its notice.
Status Engine::MakeStreams() {
  const uint32_t live = scheduler::Core::MaxLiveUnits(plan_.core);
  const auto make = [&](kernels::Device* device, const char* name, uint32_t entries,
                        kernels::StreamSink* sink, bool compute,
                        std::unique_ptr<kernels::Stream>* stream) -> Status {
    kernels::StreamOptions options;
    if (compute) options = plan_.compute_stream;
    options.name = device->info().name + " " + name;
    options.capacity = 2 * entries + 8;
    options.sink = sink;
    BERTH_ASSIGN_OR_RETURN(*stream, device->CreateStream(options));
    return Status();
  };
  for (Card& card : cards_) {
    kernels::Device* device = card.device.get();
    BERTH_RETURN_IF_ERROR(
        make(device, "copy in", plan_.core.max_copies, &copy_port_, false, &card.copy_in));
    BERTH_RETURN_IF_ERROR(
        make(device, "copy out", plan_.core.max_copies, &copy_port_, false, &card.copy_out));
    BERTH_RETURN_IF_ERROR(make(device, "table", 2 * live, &table_port_, false, &card.table));
    BERTH_RETURN_IF_ERROR(make(device, "compute", live + 2 * plan_.core.max_tickets, &wave_port_,
                               true, &card.compute));
  }
  BERTH_RETURN_IF_ERROR(make(cards_[0].device.get(), "reduce", plan_.core.max_tickets,
                             &reduce_port_, false, &reduce_));
  if (host_device_ != nullptr) {
    BERTH_RETURN_IF_ERROR(make(host_device_.get(), "misses", live + 2 * plan_.core.max_tickets,
                               &host_wave_port_, true, &host_compute_));
  }
  return Status();
}

void Engine::FillInfo() {
  MutexLock lock(&mutex_);
  RuntimeInfo planned = PlannedInfo(options_, plan_);
  info_.cards = std::move(planned.cards);
  for (size_t c = 0; c < cards_.size(); ++c) {
    for (const KernelTable& layer : cards_[c].kernels) {
      info_.cards[c].chosen_layers += layer.empty() ? 0 : 1;
    }
  }
  info_.memory = planned.memory;
  info_.arithmetic = std::move(planned.arithmetic);
  info_.host_class_slots = std::move(planned.host_class_slots);
  info_.staging_slots = planned.staging_slots;
  for (std::string& note : planned.notes) info_.notes.push_back(std::move(note));
  for (const Card& card : cards_) info_.memory.workspace_bytes += card.device->workspace_bytes();
  if (host_device_ != nullptr) info_.memory.workspace_bytes += host_device_->workspace_bytes();
  info_.chunk = core_->chunk();
  info_.io_rung = io::RungName(storage_->info().rung);
  info_.io_reason = storage_->info().reason;
  info_.memory.host_tier_bytes = host_.tier_bytes();
  info_.memory.staging_bytes = host_.staging_bytes();
  info_.memory.workspace_bytes += place_memory_.bytes();
  if (card_partials_ != nullptr) info_.memory.workspace_bytes += card_partials_->bytes();
  info_.memory.books_bytes = core_->resident_bytes() + plan_.books_bytes;
  info_.memory.catalog_bytes = catalog_->resident_bytes();
  for (const std::string& note : core_->notes()) info_.notes.push_back(note);
  for (std::string& note : host_.notes()) info_.notes.push_back(std::move(note));
}

}  // namespace berth
