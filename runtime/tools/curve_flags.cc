#include "runtime/tools/curve_flags.h"

#include <utility>

#include "policies/policy.h"
#include "runtime/tools/options.h"
#include "runtime/tools/pass_flags.h"

namespace berth::tools {
namespace {

std::string PolicyHelp() {
  std::string names;
  for (const policies::PolicyInfo& info : policies::Policies()) {
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return "A policy, repeatable: NAME or NAME:key=value,... of " + names +
         " (default: every one that can run; `berth simulate --help` says what they do)";
}

constexpr char kExamples[] =
    "Examples:\n"
    "  berth curve t.safetensors\n"
    "  berth curve t.safetensors --sizes 12%,25%,50%,75% --html curve.html\n"
    "  berth curve t.safetensors --sizes 8GB,12GB,16GB --unit-bytes 2329600 --policy lru \\\n"
    "      --policy lfu:decay=0.99 --streams 4 --between reset --json curve.json\n"
    "  berth curve t.safetensors --scope per-layer --sizes 13/layer,32/layer --per-layer\n"
    "  berth curve t.safetensors --granularity access --scope global --admit always --sizes 333\n"
    "      (as simulators of caches count)";

}  // namespace

void CurveFlags::AddTo(CLI::App* app) {
  app->add_option("TRACE", trace, "A routing trace (safetensors)")->required();
  AddJson(app, &json);
  app->add_option("--html", html, "Write a page with charts, that opens offline, to FILE")
      ->type_name("FILE");
  app->add_flag("--force", force, "Replace an existing page");
  app->add_flag("--per-layer", per_layer, "Also print the misses of each layer");

  const char* arenas = "Arena";
  AddRepeatable(app, "--sizes", &sizes,
                "A list of shares of the units (12.5%), slots (333), slots of each layer "
                "(13/layer) or bytes (4GB) (default: eighths)")
      ->type_name("LIST")
      ->group(arenas);
  app->add_option("--scope", scope,
                  "Who shares slots: shared (the layers of one unit size), per-layer (a quota for "
                  "each), global (all)")
      ->capture_default_str()
      ->group(arenas);
  app->add_option("--unit-bytes", unit_bytes_,
                  "Bytes of a unit: one value, or one a layer, separated by commas (default: what "
                  "the trace says)")
      ->type_name("BYTES")
      ->group(arenas);

  const char* policy = "Policies";
  AddRepeatable(app, "--policy", &policies_, PolicyHelp())->type_name("NAME")->group(policy);
  app->add_option("--admit", admit,
                  "policy: it may let a unit pass without a slot; always: every miss takes one")
      ->capture_default_str()
      ->group(policy);
  app->add_option("--warm", warm, "Heat file that policies start from")
      ->type_name("FILE")
      ->group(policy);
  app->add_flag("--preload", preload_, "Start with the hottest units of --warm in the slots")
      ->group(policy);
  AddWhole(app, "--seed", &seed_, "Of policies that draw numbers")->group(policy);

  const char* replay = "Replay";
  AddPassFlags(app, replay, &passes_);
  app->add_option("--granularity", granularity,
                  "step: as a machine sees it, a layer of a pass at once; access: unit by unit, as "
                  "simulators of caches do")
      ->capture_default_str()
      ->group(replay);
  app->add_option("--between", between,
                  "carried: what is resident stays from request to request; reset: it goes")
      ->capture_default_str()
      ->group(replay);
  AddWhole(app, "--warmup", &warmup_, "Passes that are played before counting begins")
      ->group(replay);
  app->footer(kExamples);
}

Result<curve::CurveOptions> CurveFlags::Options() const {
  BERTH_RETURN_IF_ERROR(OneOf("--scope", scope, {"shared", "per-layer", "global"}));
  BERTH_RETURN_IF_ERROR(OneOf("--granularity", granularity, {"step", "access"}));
  BERTH_RETURN_IF_ERROR(OneOf("--admit", admit, {"policy", "always"}));
  BERTH_RETURN_IF_ERROR(OneOf("--between", between, {"carried", "reset"}));
  if (preload_ && warm.empty()) {
    return InvalidArgumentError("--preload: of what? Give --warm FILE");
  }
  curve::CurveOptions options;
  options.scope = scope == "shared"      ? curve::Scope::kShared
                  : scope == "per-layer" ? curve::Scope::kPerLayer
                                         : curve::Scope::kGlobal;
  if (!unit_bytes_.empty()) {
    BERTH_ASSIGN_OR_RETURN(options.unit_bytes, ParseBytesList("--unit-bytes", unit_bytes_));
  }
  for (const std::string& list : sizes) {
    Result<std::vector<curve::SizeRequest>> parsed = curve::ParseSizes(list);
    if (!parsed.ok()) return parsed.status().Annotate("--sizes");
    options.sizes.insert(options.sizes.end(), parsed->begin(), parsed->end());
  }
  options.policies = policies_;
  options.always_admit = admit == "always";
  options.preload = preload_;
  options.seed = seed_;
  options.maps = !html.empty();
  options.workload.passes = passes_;
  options.workload.granularity = granularity == "step" ? Granularity::kStep : Granularity::kAccess;
  options.workload.between = between == "carried" ? Between::kCarried : Between::kReset;
  options.workload.warmup_passes = warmup_;
  return options;
}

}  // namespace berth::tools
