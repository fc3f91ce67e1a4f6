// card_check: are a card's kernels right? See --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/card/check_case.h"
#include "bench/card/check_fixtures.h"
#include "bench/expert_load.h"
#include "bench/stopwatch.h"
#include "runtime/base/mutex.h"

namespace berth::bench {
namespace {

constexpr const char* kAbout =
    "Checks the kernels of grouped expert calls on a card, for pairs of weight types, shapes and\n"
    "numbers of rows a unit. In each case:\n"
    "  outputs begin as 0xFF bytes between guards, units lie scattered between guards;\n"
    "  units of few rows have the bits of the host's exact arithmetic;\n"
    "  the error against double precision is neither zero nor beyond eight-bit activations';\n"
    "  router ids and waves of any size, from the arena, the ring and mapped host memory all give\n"
    "  the same bits, and for units of few rows the plain kernel and the tuned ones do;\n"
    "  one flipped bit of an output, of a weight, and of a slot is seen by what has to see it;\n"
    "  a unit without an address is named, and nobody wrote where nothing is to be written.\n"
    "With --fixtures instead: every type, of blocks that the format's reference quantizer wrote, "
    "and\n"
    "a model whose outputs were published, against double precision on the weights of the "
    "format's\n"
    "reference decoder. An error of nothing fails, as one that is too large does.";

constexpr int kSkipped = 77;  // no card

// One of each kind of format.
constexpr std::array<const char*, 5> kSmokePairs = {"IQ3_S+IQ4_NL", "Q4_K+Q4_0", "Q6_K+Q8_0",
                                                    "NVFP4+MXFP4", "F16+F16"};

struct Options {
  int card = 0;
  std::vector<std::string> pairs = {"all"};
  std::vector<uint32_t> rows = {1, 2, 4, 8, 16, 64};
  std::vector<std::string> shapes = {"small", "odd", "reference"};
  uint32_t exact_rows = kernels::Arithmetic().exact_rows;
  uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
  bool smoke = false;
  bool brief = false;
  std::string fixtures;
  std::string json;
};

struct Done {
  CheckResult result;
  Status status;
};

ExpertShape ShapeOf(const std::string& name, bool smoke) {
  if (name == "small") return {.hidden = smoke ? 256u : 512u, .ffn = 256, .experts = 5, .top_k = 3};
  // No multiple of 64, let alone of 256.
  if (name == "odd") return {.hidden = smoke ? 256u : 768u, .ffn = 96, .experts = 5, .top_k = 3};
  return {.hidden = 2560, .ffn = 640, .experts = 5, .top_k = 3};
}
// Enough experts that units of mixed rows get down to one.
ExpertShape Spread(ExpertShape shape) {
  shape.experts = 12;
  shape.top_k = 6;
  return shape;
}

// Every type as gate and up, over itself where the shape allows, else over one of 32.
std::vector<TypePair> PairsOf(const ExpertShape& shape) {
  std::vector<TypePair> pairs = AllTypePairs(shape);
  const kernels::Format* const q4_0 = kernels::FindFormat(TensorType::kQ4_0);
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i].gate_up != pairs[i].down) pairs[i].down = q4_0;
  }
  return pairs;
}

Result<std::vector<CheckCase>> CasesOf(const Options& options) {
  std::vector<CheckCase> cases;
  uint32_t turn = 0;
  for (const std::string& name : options.shapes) {
    const ExpertShape shape =
        options.brief ? Spread(ShapeOf(name, options.smoke)) : ShapeOf(name, options.smoke);
    std::vector<TypePair> pairs;
    for (const std::string& text : options.pairs) {
      if (text == "all") {
        for (const TypePair& pair : PairsOf(shape)) pairs.push_back(pair);
      } else if (Result<TypePair> pair = ParseTypePair(text, shape); pair.ok()) {
        pairs.push_back(*pair);
      } else if (name == "reference" || !ParseTypePair(text, ShapeOf("small", false)).ok()) {
        return pair.status();
      }
    }
    for (const TypePair& pair : pairs) {
      const uint32_t most = *std::max_element(options.rows.begin(), options.rows.end());
      if (options.brief) {
        cases.push_back({pair, shape, most, true, name == "reference" ? 0 : ++turn, true});
        continue;
      }
      for (const uint32_t rows : options.rows) {
        cases.push_back({pair, shape, rows, false, name == "reference" ? 0 : ++turn});
      }
      cases.push_back({pair, shape, most + 3, true, name == "reference" ? 0 : ++turn});
    }
  }
  return cases;
}

kernels::gpu::ExpertSizes SizesOf(const std::vector<CheckCase>& cases) {
  kernels::gpu::ExpertSizes sizes;
  for (const CheckCase& c : cases) {
    sizes.max_hidden = std::max(sizes.max_hidden, c.shape.hidden);
    sizes.max_ffn = std::max(sizes.max_ffn, c.shape.ffn);
    sizes.max_rows = std::max(sizes.max_rows, c.rows);
    sizes.max_pairs = std::max(sizes.max_pairs, c.rows * c.shape.top_k);
    sizes.max_units = std::max(sizes.max_units, c.shape.experts);
  }
  return sizes;
}

class Check {
 public:
  Check(const Options& options, CardInfo card) : options_(options), card_(std::move(card)) {}

  // Whether all cases passed.
  Result<bool> Run() {
    BERTH_ASSIGN_OR_RETURN(cases_, CasesOf(options_));
    done_.resize(cases_.size());
    std::printf("%s: %zu cases\n%-18s %-9s %-20s %-7s %5s %5s %12s %9s\n", card_.name.c_str(),
                cases_.size(), "pair", "shape", "regime", "", "exact", "wide", "wide = exact",
                "error %");
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < options_.threads; ++t) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    BERTH_RETURN_IF_ERROR(WriteJson());
    return Summary();
  }

 private:
  // Cases one after the other, with memory of this thread.
  void Work() {
    Status ready = UseCard(card_);
    kernels::Arithmetic arithmetic;
    arithmetic.exact_rows = options_.exact_rows;
    Result<StepRunner> runner = StepRunner::Create(card_, SizesOf(cases_), arithmetic);
    if (ready.ok()) ready = runner.status();
    for (;;) {
      const size_t i = next_.fetch_add(1);
      if (i >= cases_.size()) return;
      Done& done = done_[i];
      done.status = ready;
      if (ready.ok()) {
        Result<CheckResult> result = RunCase(cases_[i], &*runner);
        done.status = result.status();
        if (result.ok()) done.result = *result;
      }
      Print(cases_[i], done);
    }
  }

  static bool Passed(const Done& done) { return done.status.ok() && done.result.faults.empty(); }

  void Print(const CheckCase& c, const Done& done) BERTH_EXCLUDES(mutex_) {
    const std::string shape = std::to_string(c.shape.hidden) + "x" + std::to_string(c.shape.ffn);
    MutexLock lock(&mutex_);
    std::printf("%-18s %-9s %-20s %-7s %5llu %5llu %12llu %9.4f\n", c.pair.Name().c_str(),
                shape.c_str(), c.Regime().c_str(), Passed(done) ? "ok" : "FAILED",
                static_cast<unsigned long long>(done.result.exact_pairs),
                static_cast<unsigned long long>(done.result.wide_pairs),
                static_cast<unsigned long long>(done.result.wide_equal), 100 * done.result.rms);
    if (!done.status.ok()) std::printf("  %s\n", done.status.ToString().c_str());
    for (const std::string& fault : done.result.faults) std::printf("  %s\n", fault.c_str());
    std::fflush(stdout);
  }

  bool Summary() const {
    uint64_t failed = 0, exact = 0, wide = 0, equal = 0, runs = 0;
    for (const Done& done : done_) {
      failed += Passed(done) ? 0 : 1;
      exact += done.result.exact_pairs;
      wide += done.result.wide_pairs;
      equal += done.result.wide_equal;
      runs += done.result.runs;
    }
    std::printf(
        "%zu cases, %llu failed; %llu runs; %llu pairs with the host's bits demanded, %llu wide "
        "(%llu with the exact arithmetic's bits); %.1f s\n",
        done_.size(), static_cast<unsigned long long>(failed),
        static_cast<unsigned long long>(runs), static_cast<unsigned long long>(exact),
        static_cast<unsigned long long>(wide), static_cast<unsigned long long>(equal),
        watch_.Seconds());
    return failed == 0 && !done_.empty();
  }

  Status WriteJson() const {
    if (options_.json.empty()) return Status();
    nlohmann::json lines = nlohmann::json::array();
    for (size_t i = 0; i < cases_.size(); ++i) {
      const CheckCase& c = cases_[i];
      const CheckResult& r = done_[i].result;
      lines.push_back({{"pair", c.pair.Name()},
                       {"hidden", c.shape.hidden},
                       {"ffn", c.shape.ffn},
                       {"regime", c.Regime()},
                       {"passed", Passed(done_[i])},
                       {"error", done_[i].status.ok() ? "" : done_[i].status.ToString()},
                       {"faults", r.faults},
                       {"exact_pairs", r.exact_pairs},
                       {"wide_pairs", r.wide_pairs},
                       {"wide_equal", r.wide_equal},
                       {"runs", r.runs},
                       {"rms_error", r.rms}});
    }
    std::ofstream out(options_.json);
    out << nlohmann::json{{"card", card_.name}, {"cases", lines}}.dump(2) << "\n";
    out.close();
    if (!out.good()) return UnavailableError("writing " + options_.json + " failed");
    return Status();
  }

  const Options& options_;
  const CardInfo card_;
  const Stopwatch watch_{Clock::kWall};
  std::vector<CheckCase> cases_;
  std::vector<Done> done_;
  std::atomic<size_t> next_ = 0;
  Mutex mutex_;  // of the output
};

// GGUF names of the types that the pairs have; none: all.
Result<std::vector<std::string>> TypesOf(const std::vector<std::string>& pairs) {
  std::vector<std::string> types;
  for (const std::string& text : pairs) {
    if (text == "all") return std::vector<std::string>();
    BERTH_ASSIGN_OR_RETURN(const TypePair pair, ParseTypePair(text, ShapeOf("small", false)));
    for (const kernels::Format* format : {pair.gate_up, pair.down}) {
      types.emplace_back(format->name);
    }
  }
  return types;
}

Status WriteFixtures(const std::string& path, const CardInfo& card,
                     const std::vector<FixtureResult>& results) {
  nlohmann::json lines = nlohmann::json::array();
  for (const FixtureResult& r : results) {
    lines.push_back({{"fixture", r.name},
                     {"kernel", r.kernel},
                     {"rows", r.rows},
                     {"regime", r.exact ? "exact" : "wide"},
                     {"rms_error", r.error.rms},
                     {"largest_error", r.error.largest},
                     {"passed", r.fault.empty()},
                     {"fault", r.fault}});
  }
  std::ofstream out(path);
  out << nlohmann::json{{"card", card.name}, {"fixtures", lines}}.dump(2) << "\n";
  out.close();
  if (!out.good()) return UnavailableError("writing " + path + " failed");
  return Status();
}

// Whether every fixture passed.
Result<bool> RunFixtures(const Options& options, const CardInfo& card) {
  const Stopwatch watch(Clock::kWall);
  FixtureOptions fixtures = {options.fixtures, options.exact_rows, options.rows, {}};
  BERTH_ASSIGN_OR_RETURN(fixtures.types, TypesOf(options.pairs));
  BERTH_ASSIGN_OR_RETURN(const std::vector<FixtureResult> results, CheckFixtures(card, fixtures));
  std::printf("%s\n%-18s %-6s %5s %-6s %-7s %9s %9s\n", card.name.c_str(), "fixture", "kernel",
              "rows", "", "", "rms %", "largest %");
  size_t failed = 0, models = 0;
  double least = 1, most = 0;
  for (const FixtureResult& r : results) {
    std::printf("%-18s %-6s %5u %-6s %-7s %9.5f %9.5f\n", r.name.c_str(), r.kernel.c_str(), r.rows,
                r.exact ? "exact" : "wide", r.fault.empty() ? "ok" : "FAILED", 100 * r.error.rms,
                100 * r.error.largest);
    if (!r.fault.empty()) std::printf("  %s\n", r.fault.c_str());
    failed += r.fault.empty() ? 0 : 1;
    models += r.name.find(' ') != std::string::npos ? 1 : 0;
    least = std::min(least, r.error.rms);
    most = std::max(most, r.error.rms);
  }
  std::printf("%zu results against fixtures, %zu failed; error %.5f to %.3f %%; %s; %.1f s\n",
              results.size(), failed, 100 * least, 100 * most,
              models > 0 ? "published outputs among them" : "no published outputs there",
              watch.Seconds());
  if (!options.json.empty()) {
    BERTH_RETURN_IF_ERROR(WriteFixtures(options.json, card, results));
  }
  return failed == 0 && !results.empty();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout, "card_check");
  app.add_option("--card", options.card, "Which one")->capture_default_str();
  app.add_option("--pairs", options.pairs, "GATE_UP+DOWN types, or all")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--rows", options.rows, "Rows of each unit")
      ->delimiter(',')
      ->check(CLI::Range(1u, kernels::kMostExactRows))
      ->capture_default_str();
  app.add_option("--shapes", options.shapes, "small, odd, reference")
      ->delimiter(',')
      ->check(CLI::IsMember({"small", "odd", "reference"}))
      ->capture_default_str();
  app.add_option("--exact-rows", options.exact_rows, "Units with more rows run wide")
      ->check(CLI::Range(0u, kernels::kMostExactRows))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Cases at once")->check(CLI::Range(1, 1024));
  app.add_flag("--brief", options.brief,
               "Units of mixed rows, fewer runs, no proofs: for tools that make every call slow");
  app.add_option("--fixtures", options.fixtures,
                 "Check against golden-blocks.safetensors and tiny-qwen-like* of this folder")
      ->check(CLI::ExistingDirectory);
  app.add_option("--json", options.json, "Write every case to this file");
  app.add_flag("--smoke", options.smoke, "Small: does it work?");
  CLI11_PARSE(app, argc, argv);
  if (options.smoke) {
    const auto given = [&](const char* name) { return !app.get_option(name)->empty(); };
    if (!given("--pairs")) options.pairs = {kSmokePairs.begin(), kSmokePairs.end()};
    if (!given("--rows")) options.rows = {9};
    if (!given("--shapes")) options.shapes = {"small", "odd"};
    if (!given("--threads")) options.threads = 1;
  }
  const Result<CardInfo> card = OpenCard(options.card);
  if (!card.ok()) {
    std::printf("skipped: %s\n", card.status().ToString().c_str());
    return kSkipped;
  }
  const Result<bool> passed =
      options.fixtures.empty() ? Check(options, *card).Run() : RunFixtures(options, *card);
  if (passed.ok()) return *passed ? 0 : 1;
  std::fprintf(stderr, "card_check: %s\n", passed.status().ToString().c_str());
  return passed.status().code() == StatusCode::kInvalidArgument ? 2 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
