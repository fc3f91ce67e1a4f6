#include "runtime/probe/probe.h"

#include <algorithm>
#include <string>
#include <utility>

#include "arena/topology.h"
#include "kernels/card_name.h"
#include "kernels/host/worker_pool.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/config/kernel_table.h"
#include "runtime/probe/call_bench.h"
#include "runtime/probe/host_read.h"
#include "runtime/probe/link_probe.h"

namespace berth::probe {

using kernels::KernelChoice;

namespace {

constexpr uint32_t kCardRows[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
constexpr uint32_t kHostRows[] = {1, 2, 4, 8, 16, 64};
// The grids of a profile.
constexpr uint32_t kGridRows[] = {1, 2, 8, 32};
constexpr uint32_t kGridUnitStep = 4;     // 1, 4, 16, ... and all experts
constexpr uint32_t kMostGridRows = 4096;  // of a call: more are memory that no step has
constexpr uint32_t kComputeRows[] = {1, 2, 4, 8, 16, 32};
constexpr uint32_t kComputeUnits = 4;  // of a wave of misses

class Probe {
 public:
  explicit Probe(const ProbeOptions& options) : options_(options) {}

  Result<ProbeReport> Run() {
    BERTH_RETURN_IF_ERROR(Open());
    BERTH_RETURN_IF_ERROR(FindLayers());
    Plan();
    for (size_t layer = 0; layer < report_.layers.size(); ++layer) {
      BERTH_RETURN_IF_ERROR(MeasureLayer(layer));
    }
    if (host()) {
      HostProfile& figures = *report_.measured.host;
      BERTH_ASSIGN_OR_RETURN(
          figures.read_bytes_per_s,
          HostReadRate(options_.read_bytes, device_->info().threads, processors_, options_.timing));
      figures.source = Source();
      Advance();
    } else {
      BERTH_RETURN_IF_ERROR(MeasureCard());
    }
    return std::move(report_);
  }

 private:
  bool host() const { return report_.properties.empty(); }
  std::string Source() const {
    return "berth probe: " + (host() ? report_.machine : report_.properties) + ", " +
           report_.layers[0].types;
  }
  void Advance() {
    ++done_;
    if (options_.progress) options_.progress(done_, all_);
  }

  Status Open() {
    BERTH_ASSIGN_OR_RETURN(const kernels::CardName name, kernels::ParseCardName(options_.device));
    const arena::Topology topology = arena::ReadTopology();
    kernels::DeviceOptions device;
    device.name = name.ToString();
    device.memory_bytes = options_.memory_bytes;
    device.threads = options_.threads;
    device.arithmetic.exact_rows = options_.exact_rows;
    const uint32_t usable = kernels::UsableProcessors();
    device.processors = processors_ =
        topology.PlaceWorkers(options_.threads > 0 ? std::min(options_.threads, usable) : usable);
    opened_ = device;
    BERTH_ASSIGN_OR_RETURN(device_, options_.open_device(device));
    report_.device = device.name;
    report_.properties = device_->info().properties;
    report_.machine = topology.Description();
    report_.exact_rows = options_.exact_rows;
    if (!device_->info().note.empty()) report_.notes.push_back(device_->info().note);
    return Status();
  }

  Status FindLayers() {
    if (options_.model.empty()) {
      BERTH_ASSIGN_OR_RETURN(report_.layers,
                             LayersOfTypes(options_.types, options_.shape, *device_));
      return Status();
    }
    CatalogOptions catalog;
    catalog.conventions = options_.conventions;
    catalog.ignore_sidecar = true;
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Catalog> model,
                           Catalog::Open(options_.model, catalog));
    report_.layers = LayersOfModel(*model);
    return Status();
  }

  void Plan() {
    rows_ = options_.rows;
    if (rows_.empty() && host()) rows_.assign(std::begin(kHostRows), std::end(kHostRows));
    if (rows_.empty()) rows_.assign(std::begin(kCardRows), std::end(kCardRows));
    std::sort(rows_.begin(), rows_.end());
    rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
    // The grid is of the layers that there are most of.
    const uint32_t experts = report_.layers[0].spec.experts;
    if (host()) {
      units_ = {std::min(kComputeUnits, experts)};
      unit_rows_.assign(std::begin(kComputeRows), std::end(kComputeRows));
      report_.measured.host.emplace();
    } else {
      for (uint32_t units = 1; units < experts; units *= kGridUnitStep) units_.push_back(units);
      units_.push_back(experts);
      unit_rows_.assign(std::begin(kGridRows), std::end(kGridRows));
      CardProfile& card = report_.measured.card.emplace();
      card.card = report_.device;
      card.properties = report_.properties;
      if (options_.memory_bytes == 0) card.memory_bytes = device_->info().memory_bytes;
      card.source = Source();
    }
    // Of no more rows a unit than were asked for.
    while (unit_rows_.size() > 1 && unit_rows_.back() > rows_.back()) unit_rows_.pop_back();
    while (unit_rows_.size() > 1 && CallBench::CallRows(report_.layers[0], units_.back(),
                                                        unit_rows_.back()) > kMostGridRows) {
      unit_rows_.pop_back();
    }
    all_ = report_.layers.size() * rows_.size() + units_.size() * unit_rows_.size();
    all_ += host() ? 1 : 1 + (options_.links ? 1 : 0);
    if (options_.progress) options_.progress(0, all_);
  }

  Status MeasureLayer(size_t index) {
    const ProbeLayer& layer = report_.layers[index];
    CallSizes sizes;
    sizes.slot_bytes = options_.slot_bytes;
    sizes.max_rows = rows_.back();
    if (index == 0) {
      sizes.max_rows =
          std::max(sizes.max_rows, CallBench::CallRows(layer, units_.back(), unit_rows_.back()));
    }
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<CallBench> bench,
                           CallBench::Create(device_.get(), layer, sizes));
    if (bench->slots() < layer.spec.experts) {
      report_.notes.push_back(layer.types + ": " + FormatCount(bench->slots()) + " slots for " +
                              FormatCount(layer.spec.experts) +
                              " experts; caches may make calls look faster than they are");
    }
    for (const uint32_t rows : rows_) {
      bench->RouteRows(rows);
      BERTH_RETURN_IF_ERROR(MeasureCell(bench.get(), index));
      Advance();
    }
    if (index > 0) return Status();
    BERTH_RETURN_IF_ERROR(MeasureGrid(bench.get(), layer));
    if (host()) return Status();
    BERTH_ASSIGN_OR_RETURN(
        report_.measured.card->reduce_s,
        TimeAlone(options_.timing, [&](uint32_t times) { return bench->Reduce(times); }));
    return Status();
  }

  // The first runs unasked: without it there is nothing to measure. Another that is wrong is noted.
  Status CompareBits(CallBench* bench, const ProbeLayer& layer, ProbeCell* cell) {
    BERTH_ASSIGN_OR_RETURN(const uint64_t want, bench->Hash(cell->variants[0].kernel));
    for (size_t v = 1; v < cell->variants.size(); ++v) {
      ProbeCell::Variant& variant = cell->variants[v];
      const Result<uint64_t> hash = bench->Hash(variant.kernel);
      if (!hash.ok() && hash.status().code() != StatusCode::kInternal) return hash.status();
      variant.same_bits = hash.ok() && *hash == want;
      if (variant.same_bits) continue;
      report_.notes.push_back(layer.types + ", " + std::to_string(cell->rows) +
                              " rows: " + variant.kernel.ToString() + " gives other bits than " +
                              cell->variants[0].kernel.ToString() +
                              " and is not chosen: please report it");
    }
    return Status();
  }

  // The same bits, the fastest.
  Status MeasureCell(CallBench* bench, size_t layer) {
    const ProbeLayer& of = report_.layers[layer];
    std::vector<KernelChoice> kernels = device_->Kernels(of.spec, bench->rows(), of.top_k);
    const bool choice = kernels.size() > 1;
    if (kernels.empty()) kernels.push_back({});
    ProbeCell cell;
    cell.layer = layer;
    cell.rows = bench->rows();
    cell.units = bench->units();
    for (const KernelChoice& kernel : kernels) cell.variants.push_back({kernel});
    BERTH_RETURN_IF_ERROR(CompareBits(bench, of, &cell));
    std::vector<size_t> sound;
    for (size_t v = 0; v < cell.variants.size(); ++v) {
      if (cell.variants[v].same_bits) sound.push_back(v);
    }
    BERTH_ASSIGN_OR_RETURN(
        const std::vector<double> seconds,
        TimeInTurns(sound.size(), options_.timing, [&](size_t v, uint32_t times) {
          return bench->Run(kernels[sound[v]], times);
        }));
    for (size_t i = 0; i < sound.size(); ++i) cell.variants[sound[i]].seconds = seconds[i];
    cell.chosen = sound[ChooseFastest(seconds)];
    if (choice) {
      MeasuredKernel measured = MeasuredKernelOf(of.spec, of.top_k, cell.rows);
      measured.kernel = cell.variants[cell.chosen].kernel;
      measured.seconds = cell.variants[cell.chosen].seconds;
      report_.measured.card->choices.push_back(measured);
    }
    report_.cells.push_back(std::move(cell));
    return Status();
  }

  Status MeasureGrid(CallBench* bench, const ProbeLayer& layer) {
    ProfileGrid grid;
    for (const uint32_t rows : unit_rows_) {
      for (const uint32_t units : units_) {
        bench->RouteUnits(units, rows);
        BERTH_ASSIGN_OR_RETURN(const double seconds,
                               TimeAlone(options_.timing, [&](uint32_t times) {
                                 return bench->Run(ChosenFor(bench->rows()), times);
                               }));
        const double bytes = static_cast<double>(layer.spec.unit_bytes) * units;
        grid.value.push_back(host() ? bytes / seconds : seconds);
        best_rate_ = std::max(best_rate_, bytes / seconds);
        Advance();
      }
    }
    if (host()) {  // a rate by rows alone
      grid.x.assign(unit_rows_.begin(), unit_rows_.end());
      grid.y = {0};
      report_.measured.host->compute = std::move(grid);
      return Status();
    }
    grid.y.assign(unit_rows_.begin(), unit_rows_.end());
    grid.x.assign(units_.begin(), units_.end());
    CardProfile& card = *report_.measured.card;
    card.kernels = std::move(grid);
    card.unit_bytes = layer.spec.unit_bytes;
    card.bytes_per_s = best_rate_;
    return Status();
  }

  // As a run will have it.
  KernelChoice ChosenFor(uint32_t rows) const {
    if (host()) return KernelChoice();
    const ProbeLayer& layer = report_.layers[0];
    return KernelTable(*report_.measured.card, layer.spec, layer.top_k).For(rows);
  }

  Status MeasureCard() {
    BERTH_ASSIGN_OR_RETURN(report_.measured.card->update_s,
                           ProbeTable(device_.get(), options_.timing));
    Advance();
    if (!options_.links) return Status();
    // Kernels that have been measured are worth keeping whatever becomes of copies.
    const Status copies = MeasureCopies();
    if (!copies.ok()) {
      report_.notes.push_back("copies were not timed: " + std::string(copies.message()));
    }
    Advance();
    return Status();
  }

  Status MeasureCopies() {
    std::vector<uint64_t> unit_bytes;
    for (const ProbeLayer& layer : report_.layers) unit_bytes.push_back(layer.spec.unit_bytes);
    BERTH_ASSIGN_OR_RETURN(LinkProfile link, ProbeLink(device_.get(), unit_bytes,
                                                       options_.copy_bytes, options_.timing));
    kernels::DeviceOptions by_kernel = opened_;
    by_kernel.copy_path = kernels::CopyPath::kKernel;
    by_kernel.memory_bytes =
        2 * std::max(options_.copy_bytes, AlignUp(unit_bytes[0], kCardAlign)) + kHugePageBytes;
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<kernels::Device> second,
                           options_.open_device(by_kernel));
    BERTH_RETURN_IF_ERROR(ProbeCopyPath(device_.get(), second.get(), unit_bytes[0],
                                        options_.copy_bytes, options_.timing, &link));
    link.source = Source();
    report_.measured.link = std::move(link);
    return Status();
  }

  const ProbeOptions& options_;
  ProbeReport report_;
  std::vector<uint32_t> processors_;
  kernels::DeviceOptions opened_;
  std::unique_ptr<kernels::Device> device_;
  std::vector<uint32_t> rows_, units_, unit_rows_;
  double best_rate_ = 0;
  uint64_t done_ = 0, all_ = 0;
};

}  // namespace

Result<ProbeReport> RunProbe(const ProbeOptions& options) { return Probe(options).Run(); }

}  // namespace berth::probe
