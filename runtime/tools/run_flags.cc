#include "runtime/tools/run_flags.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/card_name.h"
#include "policies/policy.h"
#include "runtime/base/format.h"
#include "runtime/config/machine_profile.h"
#include "runtime/config/toml_config.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/tools/options.h"
#include "runtime/tools/output.h"

namespace berth::tools {
namespace {

// Every flag that a config file may set.
constexpr std::array<ConfigKey, 42> kKeys = {{
    {"model", ConfigType::kString},         {"trace", ConfigType::kString},
    {"device", ConfigType::kString, true},  {"arena", ConfigType::kBytes, true},
    {"memory", ConfigType::kBytes, true},   {"link-rate", ConfigType::kBytes, true},
    {"ring", ConfigType::kInteger},         {"chunk", ConfigType::kInteger},
    {"policy", ConfigType::kString},        {"slots", ConfigType::kString},
    {"host-tier", ConfigType::kBytes},      {"host-tier-mode", ConfigType::kString},
    {"host-policy", ConfigType::kString},   {"staging", ConfigType::kBytes},
    {"streams", ConfigType::kInteger},      {"window", ConfigType::kInteger},
    {"passes", ConfigType::kInteger},       {"prompt-rows", ConfigType::kInteger},
    {"prompt-chunk", ConfigType::kInteger}, {"requests", ConfigType::kString},
    {"prefetch", ConfigType::kBytesOrAuto}, {"prefetch-ahead", ConfigType::kInteger},
    {"warm", ConfigType::kString},          {"save-learned", ConfigType::kString},
    {"placement", ConfigType::kString},     {"miss", ConfigType::kString},
    {"profile", ConfigType::kString},       {"io", ConfigType::kString},
    {"strict-io", ConfigType::kFlag},       {"read-in-flight", ConfigType::kBytes},
    {"sweep-rows", ConfigType::kInteger},   {"sweep-share", ConfigType::kNumber},
    {"threads", ConfigType::kInteger},      {"conventions", ConfigType::kString},
    {"no-compute", ConfigType::kFlag},      {"no-checksums", ConfigType::kFlag},
    {"arithmetic", ConfigType::kString},    {"exact-rows", ConfigType::kInteger},
    {"no-pin", ConfigType::kFlag},          {"isa", ConfigType::kString},
    {"seed", ConfigType::kInteger},         {"copy-path", ConfigType::kString},
}};

// Those that need the future only where there is one.
std::string PolicyHelp(bool future) {
  std::string text = "Who leaves the arena: NAME or NAME:key=value,...\n";
  for (const policies::PolicyInfo& info : policies::Policies()) {
    if (info.needs_future && !future) continue;
    text += "  " + std::string(info.name) + ": " + std::string(info.summary) + "\n";
  }
  text.pop_back();
  return text;
}

Status Annotated(const std::string& flag, const Status& status) { return status.Annotate(flag); }

// One value for every card, or one for each.
Result<std::vector<uint64_t>> PerCard(const std::string& flag,
                                      const std::vector<std::string>& values, size_t cards) {
  if (values.size() > 1 && values.size() != cards) {
    return InvalidArgumentError(flag + " is given " + std::to_string(values.size()) +
                                " times for " + std::to_string(cards) +
                                " cards: give it once, or once for each --device");
  }
  std::vector<uint64_t> bytes(cards, 0);
  for (size_t c = 0; c < cards && !values.empty(); ++c) {
    Result<uint64_t> parsed = ParseBytes(values[values.size() == 1 ? 0 : c]);
    if (!parsed.ok()) return Annotated(flag, parsed.status());
    bytes[c] = *parsed;
  }
  return bytes;
}

// Also of a policy that this run does not use: a misspelt one is not to wait for the run that does.
// What a policy makes of its pool's size stands in its note, so any size shows whether it parses.
// `future`: a simulation knows it, a run does not.
Status KnownPolicy(const std::string& flag, const std::string& spec, bool future) {
  policies::PolicyOptions pool;
  pool.units = 64;
  pool.slots = 32;
  pool.top_k = 1;
  const std::vector<double> heat(pool.units, 1);
  pool.heat = heat;
  const std::vector<uint64_t> next_use(pool.units, policies::kNeverUsed);
  if (future) pool.next_use = next_use;
  return policies::MakePolicy(spec, pool).status().Annotate(flag);
}

// A policy that needs a profile gets it from --warm.
Status NeedsHeat(const std::string& flag, const std::string& spec, const std::string& warm) {
  const policies::PolicyInfo* const info = policies::FindPolicy(spec);
  if (info == nullptr || !info->needs_heat || !warm.empty()) return Status();
  return InvalidArgumentError(flag + " " + std::string(info->name) +
                              ": it keeps what a profile names and there is none: give one "
                              "with --warm");
}

Status Bytes(const std::string& flag, const std::string& text, uint64_t* bytes) {
  const Result<uint64_t> parsed = ParseBytes(text);
  if (!parsed.ok()) return Annotated(flag, parsed.status());
  *bytes = *parsed;
  return Status();
}

}  // namespace

void RunFlags::AddTo(CLI::App* app) {
  app->add_option("MODEL", model_, "A GGUF, any of its shards, or a pack");
  app->add_option("--trace", trace_, "Routing trace to replay (safetensors)");
  app->add_option("--config", config_, "TOML file with flags; the command line overrides it");
  app->add_option("--profile", profile_,
                  "Machine profile: a JSON file, or the name of a built-in one");
  AddConventions(app, &conventions_);
  AddJson(app, &json_);

  const char* cards = "Cards";
  const bool simulate = use_ == Use::kSimulate;
  AddRepeatable(app, "--device", &devices_,
                simulate ? "A card, repeatable (default: those of --profile, or host:0)"
                         : "A card, repeatable: host:0, cuda:0, cuda:1 (default host:0)")
      ->group(cards);
  AddRepeatable(app, "--arena", &arenas_,
                "Bytes of slots a card; once, or once for each card (default: what fits)")
      ->group(cards);
  AddRepeatable(app, "--memory", &memories_,
                "Memory of a card that may be used (default: what is "
                "free, on a GPU less a reserve)")
      ->group(cards);
  AddRepeatable(app, "--link-rate", &links_, "Bytes a second to and from a host card")
      ->group(cards);
  app->add_option("--copy-path", copy_path_,
                  "How bytes cross to a GPU: engine (the driver's copies), kernel (one that reads "
                  "host memory), or auto: as --profile says, else engine")
      ->capture_default_str()
      ->group(cards);
  AddWhole(app, "--ring", &runtime_.ring_units,
           "Units that may run without a slot (default: two waves)")
      ->default_str("")
      ->group(cards);
  AddWhole(app, "--chunk", &runtime_.chunk,
           simulate ? "Missed units a wave; 0: a naive engine that stages a whole step at once"
                    : "Missed units a wave",
           simulate ? 0 : 1)
      ->group(cards);
  app->add_option("--placement", placement_, "Which card runs a unit: ep (by expert number)")
      ->capture_default_str()
      ->group(cards);
  app->add_option(
         "--miss", miss_,
         "What a miss does:\n"
         "  stage: it is copied to the card\n"
         "  host: the host computes it from RAM, where few rows route to it (8); what the "
         "policy admits is loaded behind\n"
         "  auto: split between both by the costs of --profile, so that they end together\n"
         "  in-place: its card computes it from RAM, over its link; what the policy admits "
         "is loaded behind")
      ->capture_default_str()
      ->group(cards);

  const char* tiers = "Tiers";
  app->add_option("--policy", runtime_.policy, PolicyHelp(/*future=*/simulate))
      ->capture_default_str()
      ->group(tiers);
  app->add_option("--slots", slots_, "auto, shared, or per-layer quotas")
      ->capture_default_str()
      ->group(tiers);
  app->add_option("--host-tier", host_tier_, "Bytes of RAM that keep units")
      ->capture_default_str()
      ->group(tiers);
  app->add_option("--host-tier-mode", host_tier_mode_,
                  "inclusive, or exclusive: a unit on a card is not kept in RAM too")
      ->capture_default_str()
      ->group(tiers);
  app->add_option("--host-policy", runtime_.host_policy,
                  simulate ? "Who leaves the host tier (belady: an exclusive one only)"
                           : "Who leaves the host tier")
      ->capture_default_str()
      ->group(tiers);
  app->add_option("--staging", staging_, "Bytes for units on their way (default: four waves)")
      ->group(tiers);
  AddWhole(app, "--sweep-rows", &runtime_.sweep_rows, "Steps of more rows are a prompt's sweep")
      ->group(tiers);
  app->add_option("--sweep-share", runtime_.sweep_share,
                  "Share of the slots that sweeps may take from decode")
      ->capture_default_str()
      ->group(tiers);

  const char* reads = "Reads";
  app->add_option("--io", runtime_.io_engine, "auto, uring, pread or buffered")
      ->capture_default_str()
      ->group(reads);
  app->add_flag("--strict-io", runtime_.io_strict, "Refuse instead of stepping down")->group(reads);
  app->add_option("--read-in-flight", read_in_flight_, "Bytes under way at once, per drive")
      ->group(reads);
  app->add_flag("--no-checksums", no_checksums_, "Do not prove units against checksums")
      ->group(reads);

  const char* replay = "Replay";
  replay_.AddTo(app);
  app->add_flag("--no-compute", no_compute_, "Move units, compute nothing")->group(replay);
  AddWhole(app, "--threads", &runtime_.threads, "Threads for expert math (0: all)")->group(replay);
  app->add_option("--arithmetic", runtime_.arithmetic,
                  "exact (equal bits on every processor), or f32 (the reference for accuracy)")
      ->capture_default_str()
      ->group(replay);
  AddWhole(app, "--exact-rows", &runtime_.exact_rows,
           "Rows of a unit in a step up to which exact holds, at most 64; more run wide")
      ->group(replay);
  app->add_option("--isa", runtime_.isa,
                  "Instruction set of expert math: auto, scalar, avx2, avx512 or avx512-vbmi")
      ->capture_default_str()
      ->group(replay);
  app->add_flag(
         "--no-pin", no_pin_,
         "Let the system move the workers of expert math (a stream's own thread is never held)")
      ->group(replay);
  AddWhole(app, "--seed", &runtime_.seed, "Of the inputs, and of policies that draw numbers")
      ->group(replay);

  app->footer(
      "Examples:\n"
      "  berth run model.gguf --trace t.safetensors --arena 4GB\n"
      "  berth run model.gguf --trace t.safetensors --device host:0 --device host:1 --arena 2GB "
      "\\\n"
      "      --link-rate 3GB --host-tier 8GB --host-tier-mode exclusive\n"
      "  berth run model.gguf --trace t.safetensors --policy heat:pins=40% --json run.json\n"
      "  berth run model.gguf --trace t.safetensors --host-tier 32GB --miss auto --profile "
      "my.json\n"
      "  berth run model.gguf --trace t.safetensors --requests 0-9 --save-learned heat\n"
      "  berth run model.gguf --trace t.safetensors --requests 10-19 --warm heat");
}

Status RunFlags::ReadConfig(CLI::App* app) {
  if (config_.empty()) return Status();
  std::vector<ConfigKey> keys(kKeys.begin(), kKeys.end());
  keys.insert(keys.end(), more_keys_.begin(), more_keys_.end());
  BERTH_ASSIGN_OR_RETURN(const std::vector<ConfigEntry> entries, ReadTomlConfig(config_, keys));
  for (const ConfigEntry& entry : entries) {
    if (entry.key == "model") {
      if (model_.empty()) model_ = entry.values.front();
      continue;
    }
    CLI::Option* option = app->get_option("--" + entry.key);
    if (option->count() > 0) continue;
    try {
      for (const std::string& value : entry.values) option->add_result(value);
      option->run_callback();
    } catch (const CLI::Error& error) {
      return InvalidArgumentError(config_ + ":" + std::to_string(entry.line) + ": " + error.what());
    }
  }
  return Status();
}

Status RunFlags::Cards(RuntimeOptions* options) const {
  std::vector<std::string> devices = devices_;
  for (const CardProfile& card : machine_.cards) {
    if (devices_.empty() && use_ == Use::kSimulate) devices.push_back(card.card);
  }
  if (devices.empty()) devices = {"host:0"};
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint64_t> arenas,
                         PerCard("--arena", arenas_, devices.size()));
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint64_t> memories,
                         PerCard("--memory", memories_, devices.size()));
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint64_t> links,
                         PerCard("--link-rate", links_, devices.size()));
  options->cards.clear();
  const bool gpus = !std::all_of(devices.begin(), devices.end(), IsHostDevice);
  for (size_t c = 0; c < devices.size(); ++c) {
    const Result<kernels::CardName> name = kernels::ParseCardName(devices[c]);
    if (!name.ok()) return Annotated("--device", name.status());
    CardConfig card;
    card.device = name->ToString();
    card.arena_bytes = arenas[c];
    card.memory_bytes = memories[c];
    card.link_bytes_per_s = static_cast<double>(links[c]);
    SetCopyPath(gpus, &card);
    options->cards.push_back(std::move(card));
  }
  return Status();
}

Status RunFlags::Miss(MissChoice* miss) const {
  BERTH_RETURN_IF_ERROR(OneOf("--miss", miss_, {"stage", "host", "auto", "in-place"}));
  *miss = miss_ == "stage"  ? MissChoice::kStage
          : miss_ == "host" ? MissChoice::kHost
          : miss_ == "auto" ? MissChoice::kAuto
                            : MissChoice::kInPlace;
  return Status();
}

// "auto" is not known to a runtime: what is measured on a machine stands in its profile. Host cards
// beside others copy as they do; alone they are left to refuse what they cannot.
void RunFlags::SetCopyPath(bool beside_others, CardConfig* card) const {
  const bool host = IsHostDevice(card->device);
  card->copy_path = copy_path_ == "kernel" && !(host && beside_others) ? "kernel" : "engine";
  if (copy_path_ != "auto" || host) return;
  for (const LinkProfile& link : machine_.links) {
    if (link.card == card->device && !link.copy_path.empty()) card->copy_path = link.copy_path;
  }
}

Status RunFlags::ReadProfile() {
  if (profile_.empty()) return Status();
  BERTH_ASSIGN_OR_RETURN(machine_, FindMachineProfile(profile_));
  return Status();
}

void RunFlags::TakeProfile(RunOptions* options) const {
  if (machine_.storage.bytes_in_flight > 0) {
    options->runtime.read_bytes_in_flight = machine_.storage.bytes_in_flight;
  }
  if (use_ == Use::kSimulate) return;  // links cost what the profile says without being imposed
  for (CardConfig& card : options->runtime.cards) {
    for (const LinkProfile& link : machine_.links) {
      if (link.card == card.device && card.link_bytes_per_s == 0 && IsHostDevice(card.device)) {
        card.link_bytes_per_s = link.bytes_per_s;
      }
    }
  }
}

Result<RunOptions> RunFlags::Options(CLI::App* app) {
  BERTH_RETURN_IF_ERROR(ReadConfig(app));
  if (model_.empty() && use_ == Use::kRun) {
    return InvalidArgumentError("MODEL is missing; see --help");
  }
  if (trace_.empty()) return InvalidArgumentError("--trace is missing; see --help");
  BERTH_RETURN_IF_ERROR(OneOf("--host-tier-mode", host_tier_mode_, {"inclusive", "exclusive"}));
  const bool future = use_ == Use::kSimulate;
  BERTH_RETURN_IF_ERROR(KnownPolicy("--policy", runtime_.policy, future));
  BERTH_RETURN_IF_ERROR(KnownPolicy("--host-policy", runtime_.host_policy, future));
  BERTH_RETURN_IF_ERROR(OneOf("--slots", slots_, {"auto", "shared", "per-layer"}));
  BERTH_RETURN_IF_ERROR(OneOf("--placement", placement_, {"ep"}));
  BERTH_RETURN_IF_ERROR(OneOf("--copy-path", copy_path_, {"auto", "engine", "kernel"}));
  BERTH_RETURN_IF_ERROR(Miss(&runtime_.miss));
  RunOptions options;
  options.runtime = runtime_;
  options.runtime.model = model_;
  options.runtime.conventions = conventions_;
  options.runtime.compute = !no_compute_;
  options.runtime.pin_threads = !no_pin_;
  options.runtime.verify_checksums = !no_checksums_;
  options.runtime.host_exclusive = host_tier_mode_ == "exclusive";
  options.runtime.slots = slots_ == "auto"     ? SlotSharingChoice::kAuto
                          : slots_ == "shared" ? SlotSharingChoice::kShared
                                               : SlotSharingChoice::kPerLayer;
  options.trace = trace_;
  BERTH_RETURN_IF_ERROR(replay_.Fill(&options));
  BERTH_RETURN_IF_ERROR(NeedsHeat("--policy", runtime_.policy, replay_.warm()));
  BERTH_RETURN_IF_ERROR(NeedsHeat("--host-policy", runtime_.host_policy, replay_.warm()));
  if (options.prefetch_auto && profile_.empty()) {
    return InvalidArgumentError(
        "--prefetch auto: the simulator needs to know the machine: give --profile, or a size");
  }
  BERTH_RETURN_IF_ERROR(ReadProfile());
  options.runtime.profile = profile_;
  BERTH_RETURN_IF_ERROR(Cards(&options.runtime));
  BERTH_RETURN_IF_ERROR(Bytes("--host-tier", host_tier_, &options.runtime.host_tier_bytes));
  BERTH_RETURN_IF_ERROR(Bytes("--staging", staging_, &options.runtime.staging_bytes));
  TakeProfile(&options);
  if (!read_in_flight_.empty()) {
    BERTH_RETURN_IF_ERROR(
        Bytes("--read-in-flight", read_in_flight_, &options.runtime.read_bytes_in_flight));
  }
  if (options.runtime.host_exclusive && options.runtime.host_tier_bytes == 0) {
    return InvalidArgumentError("--host-tier-mode exclusive without a host tier: give --host-tier");
  }
  return options;
}

}  // namespace berth::tools
