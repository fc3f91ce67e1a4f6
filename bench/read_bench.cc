// read_bench: how fast random units come from a file into host memory, against fio on the same
// file. See --help.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/bench_file.h"
#include "bench/fio_run.h"
#include "bench/read_load.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/base/median.h"

namespace berth::bench {
namespace {

constexpr const char* kAbout =
    "Reads random units of a file with direct reads into huge-page memory, through the same "
    "storage\n"
    "that a model is served with, and prints GB/s (10^9 bytes from the drive, alignment "
    "included),\n"
    "the time of a unit from submission to its last byte (p50, p99), CPU time of the process per\n"
    "read, and the rung of the storage. A closed loop keeps --depth units in flight.\n"
    "Where fio is installed, it does the same (io_uring, direct, registered huge-page buffers, "
    "same\n"
    "block size and depth) in turns with each engine, and the ratio of every round is printed;\n"
    "rounds on a shared drive differ, so the median is what counts. Unit 'expert' is the three\n"
    "tensors of one expert at random bytes (704,000 + 704,000 + 921,600); fio then reads blocks "
    "of\n"
    "their mean size at three times the depth.\n"
    "--sweep finds the number of units in flight from which more bring no speed.";

struct Options {
  std::string file;
  std::string dir;
  std::string bytes = "2GiB";
  std::string unit = "2MiB";
  std::vector<std::string> engines;
  uint32_t depth = 8;
  double seconds = 2;
  uint32_t rounds = 5;
  bool fio = true;
  bool sweep = false;
  bool smoke = false;
  std::string json;
};

struct Row {
  std::string contestant;
  uint32_t depth = 0;
  uint32_t round = 0;
  LoadResult result;
};

std::vector<double> Speeds(const std::vector<Row>& rows, const std::string& name, uint32_t depth) {
  std::vector<double> speeds;
  for (const Row& row : rows) {
    if (row.contestant == name && row.depth == depth) speeds.push_back(row.result.gb_per_s);
  }
  return speeds;
}

Result<UnitShape> ParseUnit(const std::string& text) {
  if (text == "expert") return UnitShape{{704'000, 704'000, 921'600}, false};
  BERTH_ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
  if (bytes == 0 || bytes % kIoAlign != 0 || bytes > (1u << 30)) {
    return InvalidArgumentError("--unit " + text + ": give 'expert' or a multiple of 4096");
  }
  return UnitShape{{static_cast<uint32_t>(bytes)}, true};
}

void PrintRow(const Row& row) {
  const LoadResult& r = row.result;
  std::printf(
      "%5u  %-20s %5u  %6.3f  %8.3f %8.3f  %9.1f  %s\n", row.round, row.contestant.c_str(),
      row.depth, r.gb_per_s, r.p50_ms, r.p99_ms, r.cpu_us_per_read,
      r.rung.empty() ? "" : (r.rung + (r.reason.empty() ? "" : " (" + r.reason + ")")).c_str());
  std::fflush(stdout);
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  Status Run() {
    BERTH_ASSIGN_OR_RETURN(unit_, ParseUnit(options_.unit));
    BERTH_RETURN_IF_ERROR(FindFile());
    std::vector<uint32_t> depths = {options_.depth};
    if (options_.sweep) depths = {1, 2, 3, 4, 6, 8, 12, 16, 32};
    fio_ = options_.fio && !options_.sweep && HaveFio();
    if (options_.fio && !options_.sweep && !fio_) std::printf("fio is not installed: no ratio\n");
    std::printf(
        "round  contestant           depth    GB/s    p50 ms   p99 ms  CPU us/read  rung\n");
    for (uint32_t round = 1; round <= options_.rounds; ++round) {
      for (const uint32_t depth : depths) BERTH_RETURN_IF_ERROR(Round(round, depth));
    }
    for (const std::string& engine : options_.engines) Summarize(engine, depths);
    return WriteJson();
  }

  ~Bench() {
    if (remove_file_) ::unlink(path_.c_str());
  }

 private:
  Status FindFile() {
    path_ = options_.file;
    if (!path_.empty()) return Status();
    BERTH_ASSIGN_OR_RETURN(const uint64_t asked, ParseBytes(options_.bytes));
    const uint64_t bytes = AlignUp(std::max<uint64_t>(asked, 4u << 20), kIoAlign);
    const std::string dir =
        options_.dir.empty() ? std::filesystem::temp_directory_path().string() : options_.dir;
    path_ = dir + "/berth-read-bench-" + std::to_string(bytes) +
            (options_.smoke ? "-" + std::to_string(::getpid()) : "") + ".bin";
    remove_file_ = options_.smoke;
    std::printf("file: %s (made if it is not there; a few seconds per GB)\n", path_.c_str());
    std::fflush(stdout);
    return MakeBenchFile(path_, bytes);
  }

  // Every contestant once; who begins changes from round to round.
  Status Round(uint32_t round, uint32_t depth) {
    std::vector<std::string> order = options_.engines;
    if (fio_) order.push_back("fio");
    std::rotate(order.begin(), order.begin() + round % order.size(), order.end());
    for (const std::string& name : order) {
      Row row{name, depth, round, {}};
      BERTH_RETURN_IF_ERROR(name == "fio" ? RunFioRow(&row) : RunEngineRow(&row));
      PrintRow(row);
      rows_.push_back(row);
    }
    return Status();
  }

  Status RunEngineRow(Row* row) {
    BERTH_ASSIGN_OR_RETURN(row->result, RunReadLoad({.path = path_,
                                                     .unit = unit_,
                                                     .depth = row->depth,
                                                     .seconds = options_.seconds,
                                                     .engine = row->contestant,
                                                     .seed = row->round}));
    return Status();
  }

  Status RunFioRow(Row* row) {
    const auto extents = static_cast<uint32_t>(unit_.extents.size());
    const uint64_t block =
        extents == 1 ? unit_.bytes() : AlignUp(unit_.bytes() / extents + kIoAlign, kIoAlign);
    FioRun run{.path = path_,
               .block_bytes = block,
               .depth = row->depth * extents,
               .seconds = options_.seconds,
               .registered = true,
               .seed = row->round};
    Result<FioResult> fio = RunFio(run);
    row->result.rung = "io_uring+registered";
    if (!fio.ok()) {
      run.registered = false;
      row->result.rung = "io_uring";
      fio = RunFio(run);
    }
    if (!fio.ok()) return fio.status();
    row->result.gb_per_s = fio->gb_per_s;
    row->result.p50_ms = fio->p50_ms;
    row->result.p99_ms = fio->p99_ms;
    row->result.cpu_us_per_read = fio->cpu_us_per_read;
    return Status();
  }

  void Summarize(const std::string& engine, const std::vector<uint32_t>& depths) {
    const auto row = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& r) { return r.contestant == engine; });
    std::printf("%s: buffers %s huge of %s\n", engine.c_str(),
                FormatBytes(row->result.huge_bytes).c_str(),
                FormatBytes(row->result.buffer_bytes).c_str());
    if (depths.size() > 1) return SummarizeSweep(engine, depths);
    const std::vector<double> own = Speeds(rows_, engine, depths[0]);
    const auto [low, high] = std::minmax_element(own.begin(), own.end());
    std::printf("%s: median %.3f GB/s (%.3f to %.3f)\n", engine.c_str(), Median(own), *low, *high);
    summary_[engine]["median_gb_per_s"] = Median(own);
    if (fio_) SummarizeRatio(engine, own, Speeds(rows_, "fio", depths[0]));
  }

  void SummarizeRatio(const std::string& engine, const std::vector<double>& own,
                      const std::vector<double>& fio) {
    std::vector<double> ratios;
    for (size_t i = 0; i < own.size(); ++i) ratios.push_back(own[i] / fio[i]);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("%s / fio: ratio", engine.c_str());
    for (const double ratio : ratios) std::printf(" %.3f", ratio);
    std::printf("; median %.3f (%.3f to %.3f)\n", Median(ratios), *low, *high);
    summary_[engine]["ratio_to_fio"] = ratios;
    summary_[engine]["median_ratio_to_fio"] = Median(ratios);
  }

  void SummarizeSweep(const std::string& engine, const std::vector<uint32_t>& depths) {
    double best = 0;
    for (const uint32_t depth : depths) best = std::max(best, Median(Speeds(rows_, engine, depth)));
    for (const uint32_t depth : depths) {
      const double speed = Median(Speeds(rows_, engine, depth));
      if (speed < 0.97 * best) continue;
      std::printf(
          "%s: saturates at depth %u, %s in flight: median %.3f GB/s, the best of all depths "
          "%.3f\n",
          engine.c_str(), depth, FormatBytes(depth * unit_.bytes()).c_str(), speed, best);
      summary_[engine]["saturation_depth"] = depth;
      summary_[engine]["saturation_bytes_in_flight"] = depth * unit_.bytes();
      return;
    }
  }

  Status WriteJson() {
    if (options_.json.empty()) return Status();
    nlohmann::json json = {{"file", path_},
                           {"unit_bytes", unit_.bytes()},
                           {"extents", unit_.extents.size()},
                           {"seconds", options_.seconds},
                           {"summary", summary_}};
    for (const Row& row : rows_) {
      const LoadResult& r = row.result;
      json["runs"].push_back({{"contestant", row.contestant},
                              {"round", row.round},
                              {"depth", row.depth},
                              {"rung", r.rung},
                              {"reason", r.reason},
                              {"gb_per_s", r.gb_per_s},
                              {"useful_gb_per_s", r.useful_gb_per_s},
                              {"p50_ms", r.p50_ms},
                              {"p99_ms", r.p99_ms},
                              {"cpu_us_per_read", r.cpu_us_per_read},
                              {"reads", r.reads},
                              {"huge_bytes", r.huge_bytes},
                              {"buffer_bytes", r.buffer_bytes}});
    }
    std::ofstream out(options_.json);
    out << json.dump(2) << "\n";
    out.close();
    if (!out.good()) return UnavailableError("writing " + options_.json + " failed");
    return Status();
  }

  const Options options_;
  UnitShape unit_;
  std::string path_;
  bool remove_file_ = false;
  bool fio_ = false;
  std::vector<Row> rows_;
  nlohmann::json summary_;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout, "read_bench");
  app.add_option("--file", options.file, "File to read (default: one is made in --dir and kept)");
  app.add_option("--dir", options.dir, "Where the file is made (default: the temporary folder)");
  app.add_option("--bytes", options.bytes, "Size of the made file")->capture_default_str();
  app.add_option("--unit", options.unit, "'expert', or bytes of one aligned read")
      ->capture_default_str();
  app.add_option("--engine", options.engines,
                 "auto, uring, pread or buffered; several are run in turns (default: auto)");
  app.add_option("--depth", options.depth, "Units in flight")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Length of one run")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds of all contestants in turns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("!--no-fio", options.fio, "Do not run fio");
  app.add_flag("--sweep", options.sweep, "Depths 1 to 32 instead of --depth, without fio");
  app.add_flag("--smoke", options.smoke, "A small file of its own and short runs: does it work?");
  app.add_option("--json", options.json, "Write every run and the summary to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.engines.empty()) options.engines = {"auto"};
  if (options.smoke) {
    options.bytes = "16MiB";
    options.seconds = 0.1;
    options.rounds = 2;
    options.depth = std::min(options.depth, 4u);
    options.fio = false;
    options.engines = {"auto", "pread", "buffered"};
  }
  const Status status = Bench(options).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "read_bench: %s\n", status.ToString().c_str());
  return status.code() == StatusCode::kInvalidArgument ? 2 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
