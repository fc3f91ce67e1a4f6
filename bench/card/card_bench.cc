// card_bench: how fast a card's kernels are, against what its memory and its arithmetic allow. See
// --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/card/bench_layers.h"
#include "bench/card/bench_setting.h"
#include "bench/card/measured_cells.h"
#include "bench/card/memory_kernels.h"
#include "bench/card/published_cells.h"
#include "bench/stopwatch.h"
#include "runtime/base/median.h"

namespace berth::bench {
namespace {

constexpr const char* kAbout =
    "Grouped expert calls on a card (hidden 2560, FFN 640, top-10 of 512), all units resident,\n"
    "router ids on the card, weighted sums asked for, all layers in one captured graph. For each\n"
    "pair of weight types, routing and number of rows the median of the rounds, which take all\n"
    "settings of a pair in turns:\n"
    "  us/layer   time of the graph over its layers\n"
    "  GB/s       bytes of the distinct experts of a layer (10^9) over that\n"
    "  read %     of the rate at which a kernel reads all units of the same memory, this run's\n"
    "  floor %    of the longer one of bytes at that rate and operations at --operations a second\n"
    "  times      faster than the published kernels (--against: than another program's)\n"
    "  target     whether that is enough, or 75 % of the read rate is reached\n"
    "  bound by   launches: with nobody routed the graph still takes more than half the time;\n"
    "             else arithmetic: with all weights out of the card's cache it takes more than\n"
    "             85 %; else bytes. The three columns in front are these graphs' us a layer, and\n"
    "             that of kernels that only read the same units.\n"
    "Before it is timed every setting runs once over poisoned outputs and is compared with the\n"
    "host; sums have to be the same after the last round, and no rate may exceed the card's peak.\n"
    "--against FILE: what other kernels took for the same calls on the same card, a line of JSON "
    "for\n"
    "each pair and number of uniformly routed rows, other keys being left aside:\n"
    "  {\"pair\": \"IQ3_S+IQ4_NL\", \"rows\": 8, \"us_per_layer\": 171}\n"
    "What is not in it has no target.";

constexpr int kSkipped = 77;  // no card
constexpr const char* kUniform = "uniform";
constexpr double kMostlyLaunches = 0.5;
constexpr double kMostlyArithmetic = 0.85;

struct Options {
  int card = 0;
  std::vector<std::string> pairs = {"IQ3_S+IQ4_NL",  "IQ3_XXS+IQ4_NL", "IQ2_S+Q2_0", "Q4_K+Q4_0",
                                    "IQ4_XS+IQ4_NL", "Q8_0+Q8_0",      "MXFP4+MXFP4"};
  std::vector<uint32_t> rows = {1, 2, 4, 8, 16, 64, 512, 4096};
  std::vector<std::string> traces;
  bool no_uniform = false;
  uint32_t layers = 12;
  uint32_t rounds = 9;
  double seconds = 1.5;
  uint32_t exact_rows = kernels::Arithmetic().exact_rows;
  bool plain = false;
  std::vector<kernels::KernelChoice> kernels;
  double operations = 790e12;  // an H200 in bf16, measured by a large matrix product
  std::string against;
  std::string json;
  bool smoke = false;
};

class Bench {
 public:
  // `against`: what another program measured.
  Bench(const Options& options, CardInfo card, std::optional<MeasuredCells> against)
      : options_(options), card_(std::move(card)), against_(std::move(against)) {
    shape_.experts = 512;
    if (options.smoke) shape_ = {.hidden = 256, .ffn = 64, .experts = 8, .top_k = 2};
  }

  Status Run() {
    BERTH_RETURN_IF_ERROR(LoadMemoryKernels());
    BERTH_ASSIGN_OR_RETURN(stream_, CardStream::Create());
    std::printf("%s, %u processors, peak %.0f GB/s; %u layers, %u rounds\n", card_.name.c_str(),
                card_.processors, card_.peak_bytes_per_s * 1e-9, options_.layers, options_.rounds);
    std::printf("times: of %s\n", Against().c_str());
    for (const std::string& text : options_.pairs) {
      std::vector<TypePair> pairs;
      if (text == "all") {
        pairs = AllTypePairs(shape_);
      } else {
        BERTH_ASSIGN_OR_RETURN(const TypePair pair, ParseTypePair(text, shape_));
        pairs.push_back(pair);
      }
      for (const TypePair& pair : pairs) {
        BERTH_RETURN_IF_ERROR(MeasurePair(pair).Annotate(pair.Name()));
      }
    }
    std::printf("%zu cells; targets: %u met, %u missed\n", cells_.size(), met_, missed_);
    return WriteJson();
  }

 private:
  struct Cell {
    BenchSetting setting;
    bool same_bits = false;
    uint64_t hash = 0;
    double seconds = 0;  // spent on it
  };

  // Of the largest setting of a routing.
  Result<std::vector<BenchRouting>> Routings(const std::string& name) const {
    std::vector<BenchRouting> routings;
    for (const uint32_t rows : options_.rows) {
      if (name == kUniform) {
        routings.push_back(UniformRouting(shape_, options_.layers, rows));
        continue;
      }
      BERTH_ASSIGN_OR_RETURN(BenchRouting routing,
                             TraceRouting(name, shape_, options_.layers, rows));
      routings.push_back(std::move(routing));
    }
    return routings;
  }

  Status MeasurePair(const TypePair& pair) {
    const Stopwatch watch(Clock::kWall);
    BERTH_ASSIGN_OR_RETURN(const BenchLayers layers,
                           BenchLayers::Create(card_, stream_, pair, shape_, options_.layers));
    BERTH_ASSIGN_OR_RETURN(Replay read_all, CaptureReadAll(layers));
    std::deque<Cell> cells;
    std::optional<BenchBuffers> buffers;
    BERTH_RETURN_IF_ERROR(MakeCells(layers, &buffers, &cells));
    std::vector<double> read_rates;
    for (uint32_t round = 0; round < options_.rounds; ++round) {
      BERTH_ASSIGN_OR_RETURN(const double seconds, read_all.Run(stream_));
      read_rates.push_back(static_cast<double>(layers.layers() * shape_.experts) *
                           static_cast<double>(layers.unit_bytes()) / seconds);
      for (Cell& cell : cells) BERTH_RETURN_IF_ERROR(MeasureCell(round, &cell));
    }
    const double read_rate = Median(read_rates);
    for (const Cell& cell : cells) BERTH_RETURN_IF_ERROR(Report(pair, layers, read_rate, cell));
    std::printf("%s: all units read at %.0f GB/s; %.1f s\n", pair.Name().c_str(), read_rate * 1e-9,
                watch.Seconds());
    std::fflush(stdout);
    return Status();
  }

  // All units in the order of the pointer table.
  Result<Replay> CaptureReadAll(const BenchLayers& layers) {
    if (sink_.bytes() == 0) {
      BERTH_ASSIGN_OR_RETURN(sink_, CardMemory::Allocate(sizeof(uint32_t), "sink"));
    }
    return Replay::Capture(stream_, [&layers, this](gpuStream_t on) {
      return LaunchReadUnits(layers.table(), layers.layers() * shape_.experts, layers.unit_bytes(),
                             card_.processors, sink_.as<uint32_t>(), on);
    });
  }

  Status MakeCells(const BenchLayers& layers, std::optional<BenchBuffers>* buffers,
                   std::deque<Cell>* cells) {
    std::vector<std::string> names = options_.traces;
    if (!options_.no_uniform) names.insert(names.begin(), kUniform);
    std::vector<std::pair<std::string, BenchRouting>> all;
    kernels::gpu::ExpertSizes sizes = {shape_.hidden, shape_.ffn, 0, 0, shape_.experts};
    for (const std::string& name : names) {
      BERTH_ASSIGN_OR_RETURN(std::vector<BenchRouting> routings, Routings(name));
      const std::string shown = name.substr(name.rfind('/') + 1);
      for (BenchRouting& routing : routings) {
        sizes.max_rows = std::max(sizes.max_rows, routing.rows);
        sizes.max_pairs = std::max(sizes.max_pairs, routing.rows * routing.top_k);
        all.emplace_back(shown.substr(0, shown.find('.')), std::move(routing));
      }
    }
    kernels::Arithmetic arithmetic;
    arithmetic.exact_rows = options_.exact_rows;
    BERTH_ASSIGN_OR_RETURN(BenchBuffers made, BenchBuffers::Create(card_, stream_, sizes,
                                                                   arithmetic, !options_.plain));
    buffers->emplace(std::move(made));
    for (const auto& [name, routing] : all) {
      for (const kernels::KernelChoice& choice : options_.kernels) {
        BERTH_ASSIGN_OR_RETURN(
            BenchSetting setting,
            BenchSetting::Create(card_, stream_, layers, &**buffers, name, routing, choice));
        cells->push_back({std::move(setting)});
        BERTH_RETURN_IF_ERROR(CheckCell(name, &cells->back()));
      }
    }
    return Status();
  }
  Status CheckCell(const std::string& name, Cell* cell) const {
    const std::string where = name + ", " + std::to_string(cell->setting.routing().rows) + " rows";
    BERTH_RETURN_IF_ERROR(cell->setting.Check(stream_, &cell->same_bits).Annotate(where));
    BERTH_ASSIGN_OR_RETURN(cell->hash, cell->setting.HashOutputs(stream_));
    return Status();
  }

  // A setting's turn in a round. After three rounds, one that has used up its time is left out.
  Status MeasureCell(uint32_t round, Cell* cell) {
    if (round >= 3 && cell->seconds > options_.seconds) return Status();
    const Stopwatch watch(Clock::kWall);
    BERTH_RETURN_IF_ERROR(cell->setting.Measure(stream_, Variant::kCalls));
    BERTH_ASSIGN_OR_RETURN(const uint64_t hash, cell->setting.HashOutputs(stream_));
    if (hash != cell->hash) return InternalError("a replay gave other sums than the first");
    if (round < 3) {
      for (const Variant variant : {Variant::kRead, Variant::kCached, Variant::kEmpty}) {
        BERTH_RETURN_IF_ERROR(cell->setting.Measure(stream_, variant));
      }
    }
    cell->seconds += watch.Seconds();
    return Status();
  }

  static const char* BoundBy(double us, double cached, double empty) {
    if (empty > kMostlyLaunches * us) return "launches";
    return cached > kMostlyArithmetic * us ? "arithmetic" : "bytes";
  }

  Status Report(const TypePair& pair, const BenchLayers& layers, double read_rate,
                const Cell& cell) {
    const BenchSetting& setting = cell.setting;
    const BenchRouting& routing = setting.routing();
    const auto median = [&](Variant v) { return Median(setting.microseconds(v)); };
    const double us = median(Variant::kCalls), read = median(Variant::kRead);
    const double cached = median(Variant::kCached), empty = median(Variant::kEmpty);
    const double units = routing.DistinctPerLayer();
    const double bytes = units * static_cast<double>(WeightBytes(layers.spec()));
    const double rate = bytes * 1e6 / us;
    const double share = rate / read_rate;
    const double operations = 2.0 * 3 * shape_.hidden * shape_.ffn * routing.PairsPerLayer();
    const double floor = 1e6 * std::max(bytes / read_rate, operations / options_.operations);
    const bool uniform = setting.routing_name() == kUniform;
    const double others = uniform ? OthersMicroseconds(pair, routing.rows) : 0;
    const double times = others / us;
    const std::string target = TargetText(routing.rows, layers.unit_bytes(), uniform, share, times);
    const char* const bound = BoundBy(us, cached, empty);
    if (cells_.size() % 16 == 0) PrintHeader();
    std::printf(
        "%-15s %-10.10s %-8s %4u %6.1f %9.2f %6.0f %6.1f %7.1f %6.1f %-7s %8.2f %8.2f %8.2f %-10s "
        "%s\n",
        pair.Name().c_str(), setting.routing_name().c_str(), setting.kernel().ToString().c_str(),
        routing.rows, units, us, rate * 1e-9, 100 * share, 100 * floor / us, times, target.c_str(),
        empty, cached, read, bound, cell.same_bits ? "=" : "~");
    cells_.push_back({{"pair", pair.Name()},
                      {"routing", setting.routing_name()},
                      {"kernel", setting.kernel().ToString()},
                      {"rows", routing.rows},
                      {"top_k", routing.top_k},
                      {"units_per_layer", units},
                      {"unit_bytes", layers.unit_bytes()},
                      {"us_per_layer", us},
                      {"us_of_rounds", setting.microseconds(Variant::kCalls)},
                      {"gb_per_s", rate * 1e-9},
                      {"read_gb_per_s", read_rate * 1e-9},
                      {"share_of_read_rate", share},
                      {"floor_us", floor},
                      {"share_of_floor", floor / us},
                      {"others_us", others},
                      {"target", target},
                      {"empty_us", empty},
                      {"cached_us", cached},
                      {"read_us", read},
                      {"bound_by", bound},
                      {"exact_bits", cell.same_bits}});
    if (card_.peak_bytes_per_s > 0 && std::max(rate, read_rate) > card_.peak_bytes_per_s) {
      return InternalError("more bytes a second than the card's memory can give: " +
                           std::to_string(rate * 1e-9) + " GB/s");
    }
    return Status();
  }

  // Of what is to be outdone; 0 where nobody measured it.
  double OthersMicroseconds(const TypePair& pair, uint32_t rows) const {
    if (options_.smoke) return 0;
    return against_.has_value() ? against_->Microseconds(pair.Name(), rows)
                                : PublishedMicroseconds(pair.Name(), rows);
  }
  std::string Against() const {
    if (!against_.has_value()) return "published figures";
    return options_.against + ", " + std::to_string(against_->size()) + " cells";
  }

  std::string TargetText(uint32_t rows, uint64_t unit_bytes, bool uniform, double share,
                         double factor) {
    const Target target = TargetOf(rows, unit_bytes);
    if (!uniform || options_.smoke || target.factor == 0) return "-";
    const bool enough = share >= kEnoughBandwidth;
    if (factor == 0 && !enough) return "-";
    const bool met = enough || (factor >= target.factor && share >= target.bandwidth);
    ++(met ? met_ : missed_);
    return met ? "met" : "missed";
  }

  static void PrintHeader() {
    std::printf("%-15s %-10s %-8s %4s %6s %9s %6s %6s %7s %6s %-7s %8s %8s %8s %-10s %s\n", "pair",
                "routing", "kernel", "rows", "units", "us/layer", "GB/s", "read %", "floor %",
                "times", "target", "empty", "cached", "read", "bound by", "bits");
  }

  Status WriteJson() const {
    if (options_.json.empty()) return Status();
    std::ofstream out(options_.json);
    out << nlohmann::json{{"card", card_.name},
                          {"peak_gb_per_s", card_.peak_bytes_per_s * 1e-9},
                          {"layers", options_.layers},
                          {"operations_per_s", options_.operations},
                          {"tuned", !options_.plain},
                          {"exact_rows", options_.exact_rows},
                          {"against", Against()},
                          {"cells", cells_}}
               .dump(2)
        << "\n";
    out.close();
    if (!out.good()) return UnavailableError("writing " + options_.json + " failed");
    return Status();
  }

  const Options& options_;
  const CardInfo card_;
  const std::optional<MeasuredCells> against_;
  ExpertShape shape_;
  CardStream stream_;
  CardMemory sink_;
  std::vector<nlohmann::json> cells_;
  uint32_t met_ = 0, missed_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout, "card_bench");
  app.add_option("--card", options.card, "Which one")->capture_default_str();
  app.add_option("--pairs", options.pairs, "GATE_UP+DOWN types, or all: every type of weights")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--rows", options.rows, "Rows of a step")
      ->delimiter(',')
      ->check(CLI::Range(1, 16384))
      ->capture_default_str();
  app.add_option("--trace", options.traces, "Routing traces (safetensors) to take rows from")
      ->delimiter(',');
  app.add_flag("--no-uniform", options.no_uniform, "The traces alone");
  app.add_option("--layers", options.layers, "In one graph, each with all units")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seconds", options.seconds, "Of a setting, after which three rounds will do")
      ->capture_default_str();
  app.add_option("--exact-rows", options.exact_rows, "Units with more rows run wide")
      ->check(CLI::Range(0u, kernels::kMostExactRows))
      ->capture_default_str();
  app.add_flag("--plain", options.plain, "The plain kernel for every type");
  std::vector<std::string> kernel_names = {"auto"};
  app.add_option("--kernel", kernel_names,
                 "Kernels to run by, all of them in turns (auto, plain, dots, matrices, wide:N);\n"
                 "what a card does not have for a call is auto")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--operations", options.operations, "Operations a second of the floor")
      ->capture_default_str();
  app.add_option("--against", options.against,
                 "Figures of another program, instead of the published ones");
  app.add_option("--json", options.json, "Write every cell to this file");
  app.add_flag("--smoke", options.smoke, "Small and once: does it work?");
  CLI11_PARSE(app, argc, argv);
  if (options.smoke) {
    if (app.get_option("--pairs")->empty()) options.pairs = {"IQ3_S+IQ4_NL", "Q8_0+Q8_0"};
    if (app.get_option("--rows")->empty()) options.rows = {1, 12};
    options.layers = 2;
    options.rounds = 1;
  }
  for (const std::string& name : kernel_names) {
    const Result<kernels::KernelChoice> choice = kernels::ParseKernelChoice(name);
    if (!choice.ok()) {
      std::fprintf(stderr, "card_bench: --kernel: %s\n", choice.status().ToString().c_str());
      return 2;
    }
    options.kernels.push_back(*choice);
  }
  std::optional<MeasuredCells> against;
  if (!options.against.empty()) {
    Result<MeasuredCells> cells = MeasuredCells::Read(options.against);
    if (!cells.ok()) {
      std::fprintf(stderr, "card_bench: --against %s\n", cells.status().ToString().c_str());
      return 2;
    }
    against = *std::move(cells);
  }
  const Result<CardInfo> card = OpenCard(options.card);
  if (!card.ok()) {
    std::printf("skipped: %s\n", card.status().ToString().c_str());
    return kSkipped;
  }
  const Status status = Bench(options, *card, std::move(against)).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "card_bench: %s\n", status.ToString().c_str());
  return status.code() == StatusCode::kInvalidArgument ? 2 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
