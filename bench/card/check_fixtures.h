// A card's results against double precision that no code of ours has a part in: weights as the
// format's reference decoder gives them, and outputs that somebody else computed from such weights.
#ifndef BERTH_BENCH_CARD_CHECK_FIXTURES_H_
#define BERTH_BENCH_CARD_CHECK_FIXTURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/card/card.h"
#include "berth/status.h"
#include "tests/kernels/fixture_layer.h"

namespace berth::bench {

struct FixtureOptions {
  // With golden-blocks.safetensors; of tiny-qwen-like* what is there.
  std::string folder;
  uint32_t exact_rows = 0;
  std::vector<uint32_t> rows;      // of a unit, made of golden blocks
  std::vector<std::string> types;  // GGUF names; empty: all
};

struct FixtureResult {
  std::string name;    // "iq3_s", "tiny-qwen-like 2"
  std::string kernel;  // "tuned", "plain"
  uint32_t rows = 0;   // of a unit, at most
  bool exact = false;  // else wide
  kernels::testing::DoubleError error;
  std::string fault;  // empty: passed
};

// What is wrong with an error against double precision, if anything: too large, or too small to be
// that of a computation. `eight_bits`: activations are put into 8 bits.
std::string FaultOf(const kernels::testing::DoubleError& error, bool eight_bits);

// Every type, number of rows and kernel. Errors of the driver and of the files end it, a result
// that is too far off, or not off at all, does not.
Result<std::vector<FixtureResult>> CheckFixtures(const CardInfo& card,
                                                 const FixtureOptions& options);

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_CHECK_FIXTURES_H_
