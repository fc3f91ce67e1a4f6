// What a synthetic trace is made of. docs/synthetic.md explains the model and the defaults.
#ifndef BERTH_RUNTIME_SYNTH_OPTIONS_H_
#define BERTH_RUNTIME_SYNTH_OPTIONS_H_

#include <cstdint>
#include <string>

#include "berth/status.h"

namespace berth {

// The defaults are a fit to published figures of a 512-expert model (bench/published_table).
struct SynthOptions {
  uint32_t layers = 48;
  uint32_t experts = 512;
  uint32_t top_k = 10;

  // Requests, and the decode passes of all of them together. Most requests are about equally long
  // (80 to 120 % of their mean); a share is short, 50 to 150 % of short_length of that mean.
  uint32_t requests = 15;
  uint64_t passes = 2329;
  double short_share = 0.5;
  double short_length = 0.16;
  uint32_t pass_rows = 5;  // of a decode pass
  // Every request begins with a prompt of this many rows, in passes of prompt_pass_rows.
  uint32_t prompt_rows = 0;
  uint32_t prompt_pass_rows = 64;
  uint32_t streams = 1;  // the requests are said to belong to them in turn

  // Popularity of the expert at a rank: exp(-rank / scale), times exp(head) for the first one,
  // fading within head_ranks. The scale changes evenly from the first layer to the last. Which
  // expert has which rank follows from model_seed: traces of equal model_seed and different seed
  // are other traffic of the same model.
  double scale_first = 218;
  double scale_last = 78;
  double head = 0;
  double head_ranks = 8;
  uint64_t model_seed = 1;

  // Each request multiplies every popularity by exp(sigma x normal). sigma differs by request:
  // uniformly between sigma_least and sigma_most times `sigma`.
  double sigma = 2.1;
  double sigma_least = 0.7;
  double sigma_most = 1.3;
  // Correlation of these normal numbers with those at the end of the request before: requests of
  // one user, or about one topic.
  double affinity = 0.4;
  // They wander: a random walk with this deviation a row, held to variance 1.
  double drift = 0.0326;
  // A row keeps each expert of the row before with this probability.
  double keep = 0.1;
  // Popularity alone: no requests, no drift, no row knows of another.
  bool independent = false;

  // Share of a row's experts that routers one and two layers earlier name; 0: no such column.
  double recall_1_ahead = 0;
  double recall_2_ahead = 0;

  uint64_t seed = 1;
};

// InvalidArgument with option, value and what is allowed.
Status CheckSynthOptions(const SynthOptions& options);
// All of them as flags of `berth trace synth`, for the record in the file.
std::string DescribeSynthOptions(const SynthOptions& options);

}  // namespace berth

#endif  // BERTH_RUNTIME_SYNTH_OPTIONS_H_
