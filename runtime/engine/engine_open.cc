// Engine: opening. Plans every size, checks the sum against the machine once, then allocates.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "arena/topology.h"
#include "kernels/host/worker_pool.h"
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
  info_.machine = arena::ReadTopology().Description();
  BERTH_RETURN_IF_ERROR(OpenCards());
  BERTH_RETURN_IF_ERROR(OpenHostCompute());
  BERTH_RETURN_IF_ERROR(MakePlan());
  BERTH_RETURN_IF_ERROR(AllocateCards());
  BERTH_RETURN_IF_ERROR(OpenReads(hooks));
  BERTH_RETURN_IF_ERROR(MakeStreams());
  FillInfo();
  if (options_.preload) Preload();
  return Status();
}

// What all devices have alike that compute on this machine.
Result<kernels::DeviceOptions> Engine::ComputeOptions() const {
  kernels::DeviceOptions device;
  device.threads = options_.threads;
  if (options_.pin_threads) {
    // Workers beyond the last place begin at the first again.
    const uint32_t usable = kernels::UsableProcessors();
    const uint32_t threads = options_.threads > 0 ? std::min(options_.threads, usable) : usable;
    device.processors = arena::ReadTopology().PlaceWorkers(threads);
  }
  BERTH_ASSIGN_OR_RETURN(device.arithmetic, ArithmeticOf(options_));
  if (options_.isa != "auto") {
    BERTH_ASSIGN_OR_RETURN(device.isa, kernels::ParseIsa(options_.isa));
  }
  return device;
}

Status Engine::OpenCards() {
  BERTH_ASSIGN_OR_RETURN(const kernels::DeviceOptions compute, ComputeOptions());
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
    Card card;
    BERTH_ASSIGN_OR_RETURN(card.device, kernels::OpenDevice(device));
    if (options_.threads > card.device->info().threads && card.device->info().threads > 0) {
      info_.notes.push_back(config.device + ": " + std::to_string(card.device->info().threads) +
                            " threads instead of " + std::to_string(options_.threads));
    }
    cards_.push_back(std::move(card));
  }
  return Status();
}

Status Engine::OpenHostCompute() {
  if (options_.miss == MissChoice::kStage) return Status();
  if (!options_.profile.empty()) {
    BERTH_ASSIGN_OR_RETURN(profile_, FindMachineProfile(options_.profile));
  } else if (options_.miss == MissChoice::kAuto) {
    info_.notes.push_back(
        "misses are split by assumed costs (docs/formats.md): give a --profile of this machine");
  }
  BERTH_ASSIGN_OR_RETURN(kernels::DeviceOptions device, ComputeOptions());
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
  for (const Card& card : cards_) inputs.card_free_bytes.push_back(card.device->free_bytes());
  BERTH_ASSIGN_OR_RETURN(plan_, PlanMemory(inputs));
  return Status();
}

Status Engine::AllocateCards() {
  for (size_t c = 0; c < cards_.size(); ++c) {
    BERTH_ASSIGN_OR_RETURN(cards_[c].arena,
                           arena::CardArena::Create(cards_[c].device.get(), plan_.arenas[c]));
    BERTH_RETURN_IF_ERROR(cards_[c].device->CreateTable(catalog_->units()));
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
  const uint32_t live = scheduler::Core::MaxLiveUnits(plan_.core);
  uint32_t max_ffn = 0;
  for (uint32_t l = 0; l < catalog_->layers(); ++l) {
    max_ffn = std::max(max_ffn, catalog_->layer(l).spec.ffn);
  }
  const auto make = [&](kernels::Device* device, const char* name, uint32_t entries,
                        kernels::StreamSink* sink, bool compute,
                        std::unique_ptr<kernels::Stream>* stream) -> Status {
    kernels::StreamOptions options;
    options.name = device->info().name + " " + name;
    options.capacity = 2 * entries + 8;
    options.sink = sink;
    if (compute && options_.compute) {
      options.max_hidden = catalog_->hidden();
      options.max_ffn = max_ffn;
      options.max_pairs = options_.max_rows * catalog_->top_k();
    }
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
  places_.reserve(plan_.core.max_tickets);
  for (uint32_t p = 0; p < plan_.core.max_tickets; ++p) {
    places_.emplace_back(options_.max_rows, shape_.top_k, shape_.hidden, shape_.experts,
                         options_.compute);
  }
  return Status();
}

void Engine::FillInfo() {
  MutexLock lock(&mutex_);
  RuntimeInfo planned = PlannedInfo(options_, plan_);
  info_.cards = std::move(planned.cards);
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
  for (const StepPlace& place : places_) info_.memory.workspace_bytes += place.bytes();
  info_.memory.books_bytes = core_->resident_bytes() + plan_.books_bytes;
  info_.memory.catalog_bytes = catalog_->resident_bytes();
  for (const std::string& note : core_->notes()) info_.notes.push_back(note);
  for (std::string& note : host_.notes()) info_.notes.push_back(std::move(note));
}

}  // namespace berth
