// expert_math_bench: how fast this machine's processor computes experts where they lie in memory,
// against what it can read. See --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/expert_load.h"
#include "bench/read_rate.h"
#include "bench/stopwatch.h"
#include "bench/yardstick.h"
#include "kernels/exact/isa.h"
#include "kernels/expert/arithmetic.h"
#include "kernels/expert/host_expert.h"
#include "kernels/host/worker_pool.h"
#include "runtime/base/format.h"
#include "runtime/base/median.h"

namespace berth::bench {
namespace {

constexpr const char* kAbout =
    "Routed experts (gate and up, SiLU, down; hidden 2560, FFN 640, top-10 of 256) computed by "
    "the\n"
    "processor, for each pair of weight types: microseconds for each distinct unit of a step, "
    "GB/s\n"
    "(10^9) of its weights, and the share of the rate at which the same threads merely read the\n"
    "same memory (the best of this run). Each row routes to 10 of 256 experts, all as likely, so\n"
    "that 128 rows bring about 5 to a unit; with --per-unit every unit has exactly so many rows. "
    "A\n"
    "unit comes again only after all --bytes of them: weights come from memory, not from a cache.\n"
    "Figures are medians of rounds, which take all settings of a pair and the yardstick in turns;\n"
    "a round's figure is the median of its steps. One thread is timed by processor time, which\n"
    "leaves out what others take on a shared machine, more threads by the wall. --isa f32 is the\n"
    "portable reference in F32.";

constexpr const char* kExamples =
    "Examples:\n"
    "  expert_math_bench --pairs IQ3_S+IQ4_NL,Q8_0+Q8_0 --threads 1,2\n"
    "  expert_math_bench --pairs all --rows 1 --rounds 3 --json figures.json\n"
    "  expert_math_bench --per-unit --rows 4,16,64\n"
    "  expert_math_bench --isa avx2,avx512 --against './chain-{isa} {pair} {rows} {threads}'";

constexpr const char* kF32 = "f32";

struct Options {
  std::vector<std::string> pairs = {"IQ3_S+IQ4_NL",  "IQ3_XXS+IQ4_NL", "IQ2_S+Q2_0", "Q4_K+Q4_0",
                                    "IQ4_XS+IQ4_NL", "Q8_0+Q8_0",      "Q4_0+Q4_0"};
  std::vector<uint32_t> rows = {1, 2, 4, 8, 32, 128};
  std::vector<uint32_t> threads = {1};
  std::vector<std::string> isas;
  uint32_t exact_rows = kernels::Arithmetic().exact_rows;
  bool per_unit = false;
  std::string bytes = "1.2GB";
  uint32_t rounds = 5;
  double seconds = 0.2;
  std::string clock = "auto";
  std::string against;
  std::string json;
  bool smoke = false;
};

// One setting of a pair and what its rounds gave.
struct Setting {
  std::string isa;
  uint32_t threads = 0;
  uint32_t rows = 0;
  uint64_t steps = 0;
  uint64_t units = 0;             // distinct ones of each step, of all steps together
  std::vector<double> us;         // per distinct unit, by round
  std::vector<double> yardstick;  // the same of the other program
};

std::string Spread(const std::vector<double>& values) {
  if (values.empty()) return "";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  char text[96];
  std::snprintf(text, sizeof(text), "%.1f (%.1f to %.1f)", Median(values), *least, *most);
  return text;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    if (options.smoke) shape_ = {.hidden = 512, .ffn = 256, .experts = 16, .top_k = 4};
  }

  Status Run() {
    std::vector<TypePair> pairs;
    BERTH_RETURN_IF_ERROR(ParsePairs(&pairs));
    BERTH_ASSIGN_OR_RETURN(bytes_, ParseBytes(options_.bytes));
    BERTH_RETURN_IF_ERROR(CheckIsas());
    for (const uint32_t threads : options_.threads) {
      pools_[threads] = kernels::MakeWorkerPool(threads);
      if (pools_[threads]->thread_count() == threads) continue;
      return InvalidArgumentError("this process may not use " + std::to_string(threads) +
                                  " processors: lower --threads");
    }
    for (const TypePair& pair : pairs) BERTH_RETURN_IF_ERROR(Measure(pair));
    PrintReadRates();
    return WriteJson();
  }

 private:
  Status ParsePairs(std::vector<TypePair>* pairs) const {
    for (const std::string& text : options_.pairs) {
      if (text == "all") {
        for (const TypePair& pair : AllTypePairs(shape_)) pairs->push_back(pair);
        continue;
      }
      BERTH_ASSIGN_OR_RETURN(const TypePair pair, ParseTypePair(text, shape_));
      pairs->push_back(pair);
    }
    return Status();
  }

  Status CheckIsas() const {
    for (const std::string& name : options_.isas) {
      if (name == kF32) continue;
      BERTH_ASSIGN_OR_RETURN(const kernels::Isa isa, kernels::ParseIsa(name));
      const auto usable = kernels::UsableIsas();
      if (std::find(usable.begin(), usable.end(), isa) == usable.end()) {
        return InvalidArgumentError("this processor or build has no " + name + ": leave it out");
      }
    }
    return Status();
  }

  Clock ClockFor(uint32_t threads) const {
    if (options_.clock == "auto") return threads == 1 ? Clock::kProcessor : Clock::kWall;
    return options_.clock == "wall" ? Clock::kWall : Clock::kProcessor;
  }

  Status Measure(const TypePair& pair) {
    BERTH_ASSIGN_OR_RETURN(UnitStore store, UnitStore::Create(pair, shape_, bytes_));
    std::vector<Setting> settings;
    for (const uint32_t threads : options_.threads) {
      for (const uint32_t rows : options_.rows) {
        for (const std::string& isa : options_.isas) settings.push_back({isa, threads, rows});
      }
    }
    for (uint32_t round = 0; round < options_.rounds; ++round) {
      for (const uint32_t threads : options_.threads) ReadOnce(store, threads);
      for (Setting& setting : settings) {
        BERTH_RETURN_IF_ERROR(Compute(&store, round, &setting));
        BERTH_RETURN_IF_ERROR(RunYardstick(pair, &setting));
      }
    }
    for (const Setting& setting : settings) Report(pair, store, setting);
    return Status();
  }

  void ReadOnce(const UnitStore& store, uint32_t threads) {
    double& best = read_rate_[threads];
    best = std::max(best, ReadBytesPerSecond(store.memory(), threads, ClockFor(threads)));
  }

  // Of a name that CheckIsas has seen.
  kernels::HostMath MathOf(const std::string& isa) const {
    kernels::HostMath math;
    math.arithmetic.exact_rows = options_.exact_rows;
    if (isa == kF32) {
      math.arithmetic.mode = kernels::ArithmeticMode::kF32;
    } else {
      math.isa = *kernels::ParseIsa(isa);
    }
    return math;
  }

  // A setting's turn in a round. Settings with as many rows get the same routing.
  Status Compute(UnitStore* store, uint32_t round, Setting* setting) {
    ExpertStep step(shape_, setting->rows, options_.per_unit, round);
    kernels::HostExpertWorkspace workspace(pools_[setting->threads].get(), shape_.hidden,
                                           shape_.ffn, step.pairs(), MathOf(setting->isa));
    step.Poison();
    std::vector<double> us;
    uint64_t units = 0;
    const Stopwatch turn(Clock::kWall);
    do {
      step.Route(store);
      const Stopwatch watch(ClockFor(setting->threads));
      BERTH_RETURN_IF_ERROR(workspace.Run(step.call(), step.addresses()));
      us.push_back(watch.Seconds() * 1e6 / step.units());
      units += step.units();
    } while (turn.Seconds() < options_.seconds);
    if (!step.Computed()) return InternalError("a step left outputs that are no numbers");
    setting->us.push_back(Median(us));
    setting->units += units;
    setting->steps += us.size();
    return Status();
  }

  Status RunYardstick(const TypePair& pair, Setting* setting) const {
    if (options_.against.empty()) return Status();
    const std::string command =
        Filled(options_.against, {{"{pair}", pair.Name()},
                                  {"{isa}", setting->isa},
                                  {"{rows}", std::to_string(setting->rows)},
                                  {"{threads}", std::to_string(setting->threads)}});
    BERTH_ASSIGN_OR_RETURN(const double us, LastNumberOf(command));
    setting->yardstick.push_back(us);
    return Status();
  }

  void Report(const TypePair& pair, const UnitStore& store, const Setting& setting) {
    if (summary_.empty()) PrintHeader();
    const double us = Median(setting.us);
    const double bytes_per_second = static_cast<double>(store.weight_bytes()) * 1e6 / us;
    const double units_a_step =
        static_cast<double>(setting.units) / static_cast<double>(setting.steps);
    const double share = bytes_per_second / read_rate_[setting.threads];
    std::printf("%-16s %-11s %7u %5u %10.1f  %-28s %7.2f %9.1f", pair.Name().c_str(),
                setting.isa.c_str(), setting.threads, setting.rows, units_a_step,
                Spread(setting.us).c_str(), bytes_per_second * 1e-9, 100 * share);
    nlohmann::json line = {{"pair", pair.Name()},
                           {"isa", setting.isa},
                           {"threads", setting.threads},
                           {"rows", setting.rows},
                           {"per_unit", options_.per_unit},
                           {"exact_rows", options_.exact_rows},
                           {"units_per_step", units_a_step},
                           {"unit_bytes", store.weight_bytes()},
                           {"us_per_unit", setting.us},
                           {"median_us_per_unit", us},
                           {"gb_per_s", bytes_per_second * 1e-9},
                           {"share_of_read_rate", share}};
    if (!setting.yardstick.empty()) {
      const double ratio = Median(setting.yardstick) / us;
      std::printf("  %-28s %7.2f", Spread(setting.yardstick).c_str(), ratio);
      line["yardstick_us_per_unit"] = setting.yardstick;
      line["times_as_fast"] = ratio;
    }
    std::printf("\n");
    std::fflush(stdout);
    summary_.push_back(std::move(line));
  }

  void PrintHeader() const {
    std::printf("%-16s %-11s %7s %5s %10s  %-28s %7s %9s", "pair", "isa", "threads",
                options_.per_unit ? "rows*" : "rows", "units/step", "us/unit (min to max)", "GB/s",
                "of read %");
    if (!options_.against.empty()) std::printf("  %-28s %7s", "yardstick us/unit", "times");
    std::printf("\n");
  }

  void PrintReadRates() const {
    for (const auto& [threads, rate] : read_rate_) {
      std::printf("read by %u thread%s: %.2f GB/s, the best of %zu, by %s\n", threads,
                  threads == 1 ? "" : "s", rate * 1e-9, Reads(),
                  ClockFor(threads) == Clock::kWall ? "the wall" : "processor time");
    }
    if (options_.per_unit) std::printf("* for each unit\n");
  }

  size_t Reads() const {
    return summary_.size() /
           (options_.threads.size() * options_.rows.size() * options_.isas.size()) *
           options_.rounds;
  }

  Status WriteJson() const {
    if (options_.json.empty()) return Status();
    nlohmann::json json = {{"hidden", shape_.hidden},   {"ffn", shape_.ffn},
                           {"experts", shape_.experts}, {"top_k", shape_.top_k},
                           {"bytes", bytes_},           {"settings", summary_}};
    for (const auto& [threads, rate] : read_rate_) {
      json["read_gb_per_s"][std::to_string(threads)] = rate * 1e-9;
    }
    std::ofstream out(options_.json);
    out << json.dump(2) << "\n";
    out.close();
    if (!out.good()) return UnavailableError("writing " + options_.json + " failed");
    return Status();
  }

  const Options options_;
  ExpertShape shape_;
  uint64_t bytes_ = 0;
  std::map<uint32_t, std::unique_ptr<kernels::WorkerPool>> pools_;  // by threads
  std::map<uint32_t, double> read_rate_;  // bytes a second by threads, the best so far
  std::vector<nlohmann::json> summary_;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout, "expert_math_bench");
  app.footer(kExamples);
  app.add_option("--pairs", options.pairs, "GATE_UP+DOWN types, or all: every type of weights")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--rows", options.rows, "Rows of a step")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_flag("--per-unit", options.per_unit, "--rows are those of each unit, all the same");
  app.add_option("--threads", options.threads, "Threads that compute")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--isa", options.isas,
                 "scalar, avx2, avx512, avx512-vbmi or f32 (default: the best of this processor)")
      ->delimiter(',');
  app.add_option("--exact-rows", options.exact_rows,
                 "Units with more rows in a step are computed in the wide arithmetic; 0: all")
      ->check(CLI::Range(0u, kernels::kMostExactRows))
      ->capture_default_str();
  app.add_option("--bytes", options.bytes, "Units to go round in, at least; more than caches hold")
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds of all settings of a pair in turns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Length of a setting's round; one step at least")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--clock", options.clock,
                 "wall, processor (of all threads together), or auto: processor for one thread")
      ->check(CLI::IsMember({"auto", "wall", "processor"}))
      ->capture_default_str();
  app.add_option("--against", options.against,
                 "Command to run in turns; {pair}, {isa}, {rows}, {threads}; the last\n"
                 "number that it prints is its microseconds for a unit");
  app.add_option("--json", options.json, "Write every round and the read rates to this file");
  app.add_flag("--smoke", options.smoke, "Small and once: does it work?");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.isas.empty()) options.isas = {std::string(kernels::IsaName(kernels::BestIsa()))};
  if (options.smoke) {
    options.isas = {kF32};
    for (const kernels::Isa isa : kernels::UsableIsas()) {
      options.isas.emplace_back(kernels::IsaName(isa));
    }
    options.pairs = {"all"};
    options.rows = {1, 12};
    options.bytes = "4MB";
    options.rounds = 1;
    options.seconds = 0;
  }
  const Status status = Bench(options).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "expert_math_bench: %s\n", status.ToString().c_str());
  return status.code() == StatusCode::kInvalidArgument ? 2 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
