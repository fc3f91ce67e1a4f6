// One case of the check of a card's kernels: a layer of a pair of types, a shape and a number of
// rows, with every proof that applies to it.
#ifndef BERTH_BENCH_CARD_CHECK_CASE_H_
#define BERTH_BENCH_CARD_CHECK_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/card/check_step.h"
#include "bench/expert_load.h"
#include "tests/kernels/expert_model.h"

namespace berth::bench {

struct CheckCase {
  TypePair pair;
  ExpertShape shape;  // experts: one more than top_k at least
  uint32_t rows = 1;
  bool mixed = false;  // rows of a unit differ; otherwise every unit gets all rows
  // Conventions, siblings and the place of gate and up change with it. 0: the reference model's.
  uint32_t turn = 0;
  // The calls and what they give, no proofs, and fewer ways to the same result.
  bool brief = false;

  std::string Regime() const;  // "8 rows a unit"
};

struct CheckResult {
  std::vector<std::string> faults;  // empty: passed
  uint64_t exact_pairs = 0;         // in units of few rows: equal bits are demanded
  uint64_t wide_pairs = 0;
  uint64_t wide_equal = 0;  // of them, with the bits of the exact arithmetic all the same
  uint32_t runs = 0;        // of the card, with one result
  double rms = 0;           // error against double precision over the outputs' own, wide pairs too
};

// The layer of a case, on the host.
kernels::testing::Layer MakeLayer(const CheckCase& c);
// Errors of the driver end it, a failed proof does not.
Result<CheckResult> RunCase(const CheckCase& c, StepRunner* runner);

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_CHECK_CASE_H_
