#include "bench/study.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "CLI/CLI.hpp"

namespace berth::bench {
namespace {

Result<Study> Open(StudyFlags flags) {
  Study study;
  BERTH_ASSIGN_OR_RETURN(study.trace, TraceFile::Open(flags.trace));
  BERTH_ASSIGN_OR_RETURN(study.profile, FindMachineProfile(flags.profile));
  study.flags = std::move(flags);
  return study;
}

}  // namespace

SimulateOptions Study::Options(double resident, double ram) const {
  const TraceInfo& info = trace->info();
  const uint64_t units = static_cast<uint64_t>(info.layers) * info.experts;
  const size_t cards = std::max<size_t>(1, profile.cards.size());
  SimulateOptions options;
  options.profile = profile;
  options.stated.unit_bytes = {flags.unit_bytes};
  RunOptions& run = options.run;
  run.trace = flags.trace;
  run.passes.max_passes = flags.passes;
  run.runtime.cards.clear();
  for (size_t c = 0; c < cards; ++c) {
    CardConfig card;
    if (!profile.cards.empty()) card.device = profile.cards[c].card;
    const auto slots = static_cast<uint64_t>(resident * static_cast<double>(units / cards));
    card.arena_bytes = slots * ((flags.unit_bytes + 255) / 256 * 256);
    run.runtime.cards.push_back(card);
  }
  // A slot of RAM has room for the rounding of direct reads.
  run.runtime.host_tier_bytes =
      static_cast<uint64_t>(ram * static_cast<double>(units * (flags.unit_bytes + 8192)));
  if (profile.storage.bytes_in_flight > 0) {
    run.runtime.read_bytes_in_flight = profile.storage.bytes_in_flight;
  }
  return options;
}

int RunStudy(int argc, char** argv, StudyFlags flags, const std::string& summary,
             const std::string& share_flag, const std::string& share_help,
             const std::function<Status(const Study&)>& run) {
  CLI::App app(summary);
  app.option_defaults()->always_capture_default();
  app.add_option("trace", flags.trace, "Trace file")->required();
  app.add_option("--profile", flags.profile, "Machine profile: a built-in name or a file");
  app.add_option("--unit-bytes", flags.unit_bytes, "Of an expert")->check(CLI::PositiveNumber);
  app.add_option("--passes", flags.passes, "At most; 0: all");
  app.add_option(share_flag, flags.share, share_help)->check(CLI::Range(0.0, 1.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  const Result<Study> study = Open(std::move(flags));
  const Status status = study.ok() ? run(*study) : study.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", name.c_str(), status.ToString().c_str());
  return 1;
}

}  // namespace berth::bench
