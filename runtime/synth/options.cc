#include "runtime/synth/options.h"

#include <cstdio>
#include <initializer_list>

#include "runtime/base/math.h"
#include "runtime/trace/info.h"

namespace berth {
namespace {

constexpr uint64_t kMostEntries = uint64_t{1} << 40;  // ids of a trace

struct Whole {
  const char* flag;
  uint64_t value, least, most;
};

struct Real {
  const char* flag;
  double value, least, most;
};

std::string Shown(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.10g", value);
  return text;
}

Status CheckWhole(std::initializer_list<Whole> options) {
  for (const Whole& option : options) {
    if (option.value >= option.least && option.value <= option.most) continue;
    return InvalidArgumentError(std::string(option.flag) + " " + std::to_string(option.value) +
                                ": expected " + std::to_string(option.least) + " to " +
                                std::to_string(option.most));
  }
  return Status();
}

Status CheckReal(std::initializer_list<Real> options) {
  for (const Real& option : options) {
    // So that NaN is refused too.
    if (option.value >= option.least && option.value <= option.most) continue;
    return InvalidArgumentError(std::string(option.flag) + " " + Shown(option.value) +
                                ": expected " + Shown(option.least) + " to " + Shown(option.most));
  }
  return Status();
}

Status CheckTogether(const SynthOptions& options) {
  BERTH_RETURN_IF_ERROR(trace::CheckTraceShape(options.layers, options.experts, options.top_k));
  if (options.passes < options.requests) {
    return InvalidArgumentError("--passes " + std::to_string(options.passes) +
                                ": expected at least one for each of --requests " +
                                std::to_string(options.requests));
  }
  if (options.sigma_least > options.sigma_most) {
    return InvalidArgumentError("--sigma-least " + Shown(options.sigma_least) +
                                ": expected at most --sigma-most " + Shown(options.sigma_most));
  }
  if (options.recall_2_ahead > 0 && options.recall_1_ahead <= 0) {
    return InvalidArgumentError("--recall-2-ahead needs --recall-1-ahead as well");
  }
  // Wrong guesses name experts that the row does not go to.
  if (options.recall_1_ahead > 0 && options.experts < 2 * options.top_k) {
    return InvalidArgumentError(
        "--recall-1-ahead: expected at least 2 x top-k = " + std::to_string(2 * options.top_k) +
        " experts, found " + std::to_string(options.experts));
  }
  const uint64_t rows =
      options.passes * options.pass_rows + uint64_t{options.requests} * options.prompt_rows;
  uint64_t entries = 0;
  if (!CheckedMul(rows, uint64_t{options.layers} * options.top_k, &entries) ||
      entries > kMostEntries || rows > UINT32_MAX) {
    return InvalidArgumentError("the trace would have " + std::to_string(rows) + " rows of " +
                                std::to_string(uint64_t{options.layers} * options.top_k) +
                                " ids: take fewer passes, rows or layers");
  }
  return Status();
}

}  // namespace

Status CheckSynthOptions(const SynthOptions& options) {
  constexpr uint64_t kMostRows = 1u << 20;
  BERTH_RETURN_IF_ERROR(CheckWhole({{"--layers", options.layers, 1, 4096},
                                    {"--experts", options.experts, 2, 32767},
                                    {"--top-k", options.top_k, 1, options.experts - 1},
                                    {"--requests", options.requests, 1, 1u << 24},
                                    {"--passes", options.passes, 1, UINT32_MAX},
                                    {"--pass-rows", options.pass_rows, 1, kMostRows},
                                    {"--prompt-rows", options.prompt_rows, 0, kMostRows},
                                    {"--prompt-pass-rows", options.prompt_pass_rows, 1, kMostRows},
                                    {"--streams", options.streams, 1, 1u << 16}}));
  BERTH_RETURN_IF_ERROR(CheckReal({{"--short-share", options.short_share, 0, 1},
                                   {"--short-length", options.short_length, 0.001, 1},
                                   {"--scale-first", options.scale_first, 0.1, 1e9},
                                   {"--scale-last", options.scale_last, 0.1, 1e9},
                                   {"--head", options.head, -10, 10},
                                   {"--head-ranks", options.head_ranks, 0.1, 1e9},
                                   {"--sigma", options.sigma, 0, 4},
                                   {"--sigma-least", options.sigma_least, 0, 2},
                                   {"--sigma-most", options.sigma_most, 0, 2},
                                   {"--affinity", options.affinity, 0, 1},
                                   {"--drift", options.drift, 0, 1},
                                   {"--keep", options.keep, 0, 1},
                                   {"--recall-1-ahead", options.recall_1_ahead, 0, 1},
                                   {"--recall-2-ahead", options.recall_2_ahead, 0, 1}}));
  return CheckTogether(options);
}

std::string DescribeSynthOptions(const SynthOptions& options) {
  std::string text = "berth trace synth";
  const auto whole = [&](const char* flag, uint64_t value) {
    text += " " + std::string(flag) + " " + std::to_string(value);
  };
  const auto real = [&](const char* flag, double value) {
    text += " " + std::string(flag) + " " + Shown(value);
  };
  whole("--layers", options.layers);
  whole("--experts", options.experts);
  whole("--top-k", options.top_k);
  whole("--requests", options.requests);
  whole("--passes", options.passes);
  real("--short-share", options.short_share);
  real("--short-length", options.short_length);
  whole("--pass-rows", options.pass_rows);
  whole("--prompt-rows", options.prompt_rows);
  whole("--prompt-pass-rows", options.prompt_pass_rows);
  whole("--streams", options.streams);
  real("--scale-first", options.scale_first);
  real("--scale-last", options.scale_last);
  real("--head", options.head);
  real("--head-ranks", options.head_ranks);
  whole("--model-seed", options.model_seed);
  real("--sigma", options.sigma);
  real("--sigma-least", options.sigma_least);
  real("--sigma-most", options.sigma_most);
  real("--affinity", options.affinity);
  real("--drift", options.drift);
  real("--keep", options.keep);
  if (options.independent) text += " --independent";
  real("--recall-1-ahead", options.recall_1_ahead);
  real("--recall-2-ahead", options.recall_2_ahead);
  whole("--seed", options.seed);
  return text;
}

}  // namespace berth
