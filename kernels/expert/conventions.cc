// The conventions of the known model architectures, and those that a person states by hand.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/expert/expert_spec.h"
#include "runtime/base/format.h"

namespace berth::kernels {
namespace {

struct Architecture {
  std::string_view name;  // general.architecture
  Activation activation;
  bool weights_before = false;
};

// Facts of the public implementation of these models, github.com/ggml-org/llama.cpp: names from
// src/llama-arch.cpp, activations from the build_moe_ffn call of each file in src/models, the
// fused order (gate rows first, for all) and the weights before the FFN (llama4) from
// llm_graph_context::build_moe_ffn in src/llama-graph.cpp.
//
// Not here, so refused: deepseek4, step35 and bailingmoe3 (a SiLU gate with a clamp whose limit is
// metadata of each layer), kimi-k3 (SiTU), nomic-bert-moe (GELU without a gate), grovemoe (a second
// set of expert tensors).
constexpr Architecture kArchitectures[] = {
    {"afmoe", Activation::kSiluGate},
    {"arctic", Activation::kSiluGate},
    {"bailingmoe", Activation::kSiluGate},
    {"bailingmoe2", Activation::kSiluGate},
    {"cohere2moe", Activation::kSiluGate},
    {"dbrx", Activation::kSiluGate},
    {"deepseek", Activation::kSiluGate},
    {"deepseek2", Activation::kSiluGate},
    {"deepseek2-ocr", Activation::kSiluGate},
    {"deepseek32", Activation::kSiluGate},
    {"dots1", Activation::kSiluGate},
    {"ernie4_5-moe", Activation::kSiluGate},
    {"exaone-moe", Activation::kSiluGate},
    {"gemma4", Activation::kGeluGate},
    {"glm-dsa", Activation::kSiluGate},
    {"glm4moe", Activation::kSiluGate},
    {"gpt-oss", Activation::kClampedGate},
    {"granitehybrid", Activation::kSiluGate},
    {"granitemoe", Activation::kSiluGate},
    {"grok", Activation::kGeluGate},
    {"hunyuan-moe", Activation::kSiluGate},
    {"hy_v3", Activation::kSiluGate},
    {"jamba", Activation::kSiluGate},
    {"kimi-linear", Activation::kSiluGate},
    {"laguna", Activation::kSiluGate},
    {"lfm2moe", Activation::kSiluGate},
    {"llada-moe", Activation::kSiluGate},
    {"llama", Activation::kSiluGate},
    {"llama4", Activation::kSiluGate, true},
    {"mellum", Activation::kSiluGate},
    {"mimo2", Activation::kSiluGate},
    {"minimax-01", Activation::kSiluGate},
    {"minimax-m2", Activation::kSiluGate},
    {"minimax-m3", Activation::kClampedGate},
    {"mistral3", Activation::kSiluGate},
    {"mistral4", Activation::kSiluGate},
    {"nemotron_h_moe", Activation::kSquaredRelu},
    {"olmoe", Activation::kSiluGate},
    {"phimoe", Activation::kSiluGate},
    {"qwen2moe", Activation::kSiluGate},
    {"qwen35moe", Activation::kSiluGate},
    {"qwen3moe", Activation::kSiluGate},
    {"qwen3next", Activation::kSiluGate},
    {"qwen3vlmoe", Activation::kSiluGate},
    {"rnd1", Activation::kSiluGate},
    {"smallthinker", Activation::kReluGate},
};

constexpr Activation kActivations[] = {Activation::kSiluGate, Activation::kGeluGate,
                                       Activation::kClampedGate, Activation::kReluGate,
                                       Activation::kSquaredRelu};

absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }
std::string_view StdView(absl::string_view text) { return {text.data(), text.size()}; }

constexpr std::string_view kGrammar =
    "expected ACTIVATION[,OPTION...] with ACTIVATION one of silu-gate, gelu-gate, clamped-gate, "
    "relu-gate, squared-relu and OPTION one of gate-first, up-first, weights-before, "
    "weights-after, and for clamped-gate alpha=NUMBER, limit=NUMBER";

Status Wrong(absl::string_view text, absl::string_view why) {
  return InvalidArgumentError(
      absl::StrCat("conventions '", text, "': ", why, "; ", AbslView(kGrammar)));
}

// Sets what one option says. Returns what is wrong with it, or nothing.
std::string ApplyOption(absl::string_view option, ExpertConventions& conventions) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(option, absl::MaxSplits('=', 1));
  if (parts.first == "alpha" || parts.first == "limit") {
    if (conventions.activation != Activation::kClampedGate) {
      return absl::StrCat("'", parts.first, "' belongs to clamped-gate");
    }
    float number = 0;
    if (!absl::SimpleAtof(parts.second, &number) || !std::isfinite(number) || number <= 0) {
      return absl::StrCat("'", option, "' needs a number above 0");
    }
    (parts.first == "alpha" ? conventions.alpha : conventions.limit) = number;
    return "";
  }
  if (option == "gate-first" || option == "up-first") {
    if (!conventions.has_gate())
      return absl::StrCat("'", option, "' needs an activation with a gate");
    conventions.gate_first = option == "gate-first";
    return "";
  }
  if (option == "weights-before" || option == "weights-after") {
    conventions.weights_before = option == "weights-before";
    return "";
  }
  constexpr std::array<std::string_view, 6> kOptions = {
      "gate-first", "up-first", "weights-before", "weights-after", "alpha=", "limit="};
  return absl::StrCat("unknown option '", option, "'", DidYouMean(StdView(option), kOptions));
}

}  // namespace

std::string_view ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kSiluGate:
      return "silu-gate";
    case Activation::kGeluGate:
      return "gelu-gate";
    case Activation::kClampedGate:
      return "clamped-gate";
    case Activation::kReluGate:
      return "relu-gate";
    case Activation::kSquaredRelu:
      return "squared-relu";
  }
  return "unknown";
}

Result<ExpertConventions> ConventionsOf(std::string_view architecture) {
  std::vector<std::string_view> names;
  names.reserve(std::size(kArchitectures));
  for (const Architecture& known : kArchitectures) {
    if (known.name == architecture) {
      ExpertConventions conventions;
      conventions.activation = known.activation;
      conventions.weights_before = known.weights_before;
      return conventions;
    }
    names.push_back(known.name);
  }
  return NotFoundError(absl::StrCat(
      "the expert conventions of architecture '", AbslView(architecture), "' are not known",
      DidYouMean(architecture, names),
      "; state them, for example --conventions silu-gate (gate rows first in a fused tensor)"));
}

Result<ExpertConventions> ParseConventions(std::string_view text) {
  // The first option may follow the activation after a colon as well as after a comma.
  const size_t end = std::min(text.find_first_of(":,"), text.size());
  const std::string_view name = text.substr(0, end);
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](Activation a) { return ActivationName(a) == name; });
  if (found == std::end(kActivations)) {
    std::array<std::string_view, std::size(kActivations)> names;
    std::transform(std::begin(kActivations), std::end(kActivations), names.begin(), ActivationName);
    return Wrong(AbslView(text), absl::StrCat("unknown activation '", AbslView(name), "'",
                                              DidYouMean(name, names)));
  }
  ExpertConventions conventions;
  conventions.activation = *found;
  if (end == text.size()) return conventions;
  std::vector<absl::string_view> seen;
  for (absl::string_view option : absl::StrSplit(AbslView(text.substr(end + 1)), ',')) {
    const absl::string_view key = option.substr(0, option.find('='));
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return Wrong(AbslView(text), absl::StrCat("'", key, "' stands twice"));
    }
    seen.push_back(key);
    if (std::string why = ApplyOption(option, conventions); !why.empty()) {
      return Wrong(AbslView(text), why);
    }
  }
  return conventions;
}

}  // namespace berth::kernels
