// link_bench: how fast units come to a card, and how much of that hides behind computing. See
// --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/expert_load.h"
#include "bench/link_card.h"
#include "bench/link_overlap.h"
#include "bench/stopwatch.h"
#include "bench/tier_rate.h"
#include "runtime/base/median.h"

namespace berth::bench {
namespace {

constexpr const char* kAbout =
    "Three measurements of the way from host memory to a card, each by the driver's copies and by\n"
    "the copy kernel where the card has both. Units are those of IQ3_S+IQ4_NL at hidden 2560 and\n"
    "FFN 640: tensors of 704,000, 704,000 and 921,600 bytes.\n"
    "1. link: many units in flight, each in one piece and as the three tensors that it was read "
    "as,\n"
    "   in turns with one large copy of as many bytes; GB/s (10^9), medians.\n"
    "2. drive: with a MODEL, units from its file through registered memory into an arena, against\n"
    "   the same reads alone and the large copy; the slower of these two is the bound.\n"
    "3. overlap: a step of 10 hits and 10 misses against the longer one of copying alone and\n"
    "   computing alone; microseconds from the first call to the end, medians.";

constexpr int kSkipped = 77;  // no card

struct Options : TierLoad {
  uint32_t units = 128;
  uint32_t rounds = 9;
  uint32_t chunk = OverlapLoad().chunk;
  bool smoke = false;
  std::string json;
};

const char* NameOf(kernels::CopyPath path) {
  return path == kernels::CopyPath::kEngine ? "engine" : "kernel";
}

// The large copy, whole units and units by tensors, in turns.
struct LinkRates {
  std::vector<double> large, whole, tensors;  // GB/s by round
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    if (options.smoke) shape_ = {.hidden = 256, .ffn = 64, .experts = 4, .top_k = 2};
    pair_ = *ParseTypePair("IQ3_S+IQ4_NL", shape_);
  }

  Status Run() {
    std::vector<kernels::CopyPath> paths = {kernels::CopyPath::kEngine};
    if (options_.device.rfind("host", 0) != 0) paths.push_back(kernels::CopyPath::kKernel);
    for (const kernels::CopyPath path : paths) BERTH_RETURN_IF_ERROR(Link(path));
    if (!options_.model.empty()) BERTH_RETURN_IF_ERROR(Drive());
    for (const kernels::CopyPath path : paths) BERTH_RETURN_IF_ERROR(Overlapped(path));
    return WriteJson();
  }

 private:
  Status Link(kernels::CopyPath path) {
    const kernels::ExpertSpec spec = MakeExpertSpec(pair_, shape_);
    LinkShape shape;
    for (const kernels::MatrixSpec* m : {&spec.gate, &spec.up, &spec.down}) {
      shape.tensors.push_back(m->rows * m->row_bytes);
    }
    shape.units = options_.units;
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<LinkCard> card,
                           LinkCard::Open(options_.device, path, shape, 0));
    kernels::StreamOptions stream_options;
    stream_options.name = "copies";
    stream_options.capacity = 2 * options_.units;
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<kernels::Stream> stream,
                           card->device().CreateStream(stream_options));
    LinkRates rates;
    for (uint32_t round = 0; round <= options_.rounds; ++round) {
      BERTH_ASSIGN_OR_RETURN(const double large, LargeCopy(*card, stream.get()));
      BERTH_ASSIGN_OR_RETURN(const double whole, Units(*card, stream.get(), false));
      BERTH_ASSIGN_OR_RETURN(const double tensors, Units(*card, stream.get(), true));
      if (round == 0) continue;  // warm-up
      rates.large.push_back(large);
      rates.whole.push_back(whole);
      rates.tensors.push_back(tensors);
    }
    const double large = Median(rates.large);
    if (!large_) large_ = large;  // of the copy engine
    std::printf(
        "link %s: large copy %.1f GB/s; %u units in flight %.1f GB/s in one piece (%.3f of "
        "the engine's large copy), %.1f as three tensors (%.3f)\n",
        NameOf(path), large, options_.units, Median(rates.whole), Median(rates.whole) / *large_,
        Median(rates.tensors), Median(rates.tensors) / *large_);
    std::fflush(stdout);
    json_["link"][NameOf(path)] = {{"large_gb_per_s", rates.large},
                                   {"units_gb_per_s", rates.whole},
                                   {"tensors_gb_per_s", rates.tensors},
                                   {"units_to_large", Median(rates.whole) / *large_},
                                   {"tensors_to_large", Median(rates.tensors) / *large_}};
    return Status();
  }

  static Result<double> LargeCopy(const LinkCard& card, kernels::Stream* stream) {
    const kernels::CopySegment all = card.All();
    const Stopwatch watch(Clock::kWall);
    BERTH_RETURN_IF_ERROR(stream->Copy(kernels::CopyDirection::kToCard, {&all, 1}));
    BERTH_RETURN_IF_ERROR(stream->Synchronize());
    return static_cast<double>(all.bytes) / watch.Seconds() / 1e9;
  }

  Result<double> Units(const LinkCard& card, kernels::Stream* stream, bool tensors) const {
    std::vector<std::vector<kernels::CopySegment>> copies;
    for (uint32_t slot = 0; slot < options_.units; ++slot) {
      copies.push_back(tensors ? card.Tensors(slot) : card.Whole(slot));
    }
    const Stopwatch watch(Clock::kWall);
    for (const std::vector<kernels::CopySegment>& segments : copies) {
      BERTH_RETURN_IF_ERROR(stream->Copy(kernels::CopyDirection::kToCard, segments));
    }
    BERTH_RETURN_IF_ERROR(stream->Synchronize());
    return static_cast<double>(options_.units * card.shape().bytes()) / watch.Seconds() / 1e9;
  }

  Status Drive() {
    BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Catalog> catalog, Catalog::Open(options_.model));
    std::vector<double> reads, tiers;
    std::string rung;
    for (uint32_t round = 0; round < std::max(1u, options_.rounds / 3); ++round) {
      BERTH_ASSIGN_OR_RETURN(const double read, ReadRate(options_, *catalog));
      BERTH_ASSIGN_OR_RETURN(const double tier, TierRate(options_, *catalog, &rung));
      reads.push_back(read);
      tiers.push_back(tier);
    }
    const double bound = std::min(Median(reads), *large_);
    std::printf(
        "drive: reads %.2f GB/s, link %.1f; drive to card %.2f GB/s (%.3f of the slower); "
        "%s\n",
        Median(reads), *large_, Median(tiers), Median(tiers) / bound, rung.c_str());
    std::fflush(stdout);
    json_["drive"] = {{"reads_gb_per_s", reads},
                      {"card_gb_per_s", tiers},
                      {"to_slower", Median(tiers) / bound},
                      {"rung", rung}};
    return Status();
  }

  Status Overlapped(kernels::CopyPath path) {
    OverlapLoad load;
    load.pair = pair_;
    load.shape = shape_;
    load.chunk = options_.chunk;
    load.copy_path = path;
    if (options_.smoke) load.steps = 2;
    BERTH_ASSIGN_OR_RETURN(const OverlapResult r, RunOverlap(options_.device, load));
    const double ratio = r.step / std::max(r.copy, r.compute);
    std::printf(
        "overlap %s: copying 10 units %.1f us, computing 20 %.1f us, both %.1f us: %.3f of "
        "the longer (misses in waves of %u)\n",
        NameOf(path), r.copy * 1e6, r.compute * 1e6, r.step * 1e6, ratio, load.chunk);
    std::fflush(stdout);
    json_["overlap"][NameOf(path)] = {{"copy_us", r.copy * 1e6},
                                      {"compute_us", r.compute * 1e6},
                                      {"step_us", r.step * 1e6},
                                      {"to_longer", ratio}};
    return Status();
  }

  Status WriteJson() const {
    if (options_.json.empty()) return Status();
    std::ofstream out(options_.json);
    out << json_.dump(2) << "\n";
    out.close();
    if (!out.good()) return UnavailableError("writing " + options_.json + " failed");
    return Status();
  }

  const Options& options_;
  ExpertShape shape_;
  TypePair pair_;
  std::optional<double> large_;
  nlohmann::json json_;
};

int Main(int argc, char** argv) {
  Options options;
  options.device = "cuda:0";
  CLI::App app(kAbout, "link_bench");
  app.add_option("MODEL", options.model, "A GGUF of units of real size (berth make-model)");
  app.add_option("--device", options.device, "The card")->capture_default_str();
  app.add_option("--units", options.units, "In flight")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("--chunk", options.chunk, "Misses of a wave")
      ->check(CLI::Range(1, 10))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seconds", options.seconds, "Of each measurement with the drive")
      ->capture_default_str();
  app.add_option("--in-flight", options.in_flight, "Bytes of reads under way at once")
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the rounds to this file");
  app.add_flag("--smoke", options.smoke, "Small and once: does it work?");
  CLI11_PARSE(app, argc, argv);
  if (options.smoke) {
    options.units = 8;
    options.rounds = 1;
  }
  kernels::DeviceOptions device;
  device.name = options.device;
  device.memory_bytes = 1 << 20;
  if (const Status there = OpenLinkDevice(device).status(); !there.ok()) {
    std::printf("skipped: %s\n", there.ToString().c_str());
    return kSkipped;
  }
  const Status status = Bench(options).Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "link_bench: %s\n", status.ToString().c_str());
  return status.code() == StatusCode::kInvalidArgument ? 2 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
