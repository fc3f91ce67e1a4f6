// What a benchmark of expert math runs on: units of one pair of weight types in memory, more than
// the caches hold, and steps that route rows to them.
#ifndef BERTH_BENCH_EXPERT_LOAD_H_
#define BERTH_BENCH_EXPERT_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arena/host_region.h"
#include "berth/status.h"
#include "kernels/expert/expert_spec.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/formats/format.h"

namespace berth::bench {

struct ExpertShape {
  uint32_t hidden = 2560;
  uint32_t ffn = 640;
  uint32_t experts = 256;  // that a step routes over
  uint32_t top_k = 10;
};

struct TypePair {
  const kernels::Format* gate_up = nullptr;
  const kernels::Format* down = nullptr;
  std::string Name() const;  // "IQ3_S+IQ4_NL"
};

// "IQ3_S+IQ4_NL", any case. InvalidArgument where a type is unknown or the shape is no multiple of
// its block.
Result<TypePair> ParseTypePair(std::string_view text, const ExpertShape& shape);
// Every type of weights: alone where the shape allows, otherwise over IQ4_NL.
std::vector<TypePair> AllTypePairs(const ExpertShape& shape);

// A layer of such experts, siblings none; tensors packed as on a card. And a unit of it with valid
// random weights.
kernels::ExpertSpec MakeExpertSpec(const TypePair& pair, const ExpertShape& shape);
uint64_t WeightBytes(const kernels::ExpertSpec& spec);  // of a unit, without what aligns it
void GenerateUnit(const kernels::ExpertSpec& spec, uint64_t seed, std::byte* unit);

// At least `bytes` of units with valid random weights, and no fewer units than the shape's experts.
class UnitStore {
 public:
  static Result<UnitStore> Create(const TypePair& pair, const ExpertShape& shape, uint64_t bytes);

  const kernels::ExpertSpec& spec() const { return spec_; }
  uint32_t count() const { return static_cast<uint32_t>(order_.size()); }
  uint64_t weight_bytes() const { return weight_bytes_; }  // of a unit, without what aligns it
  std::span<const std::byte> memory() const { return {region_.data(), region_.bytes()}; }
  // The next unit of an endless round over all of them in a shuffled order: none comes again before
  // every other has been, whoever asked.
  const std::byte* Next();

 private:
  UnitStore() = default;

  arena::HostRegion region_;
  kernels::ExpertSpec spec_;
  uint64_t weight_bytes_ = 0;
  std::vector<uint32_t> order_;
  uint32_t next_ = 0;
};

// A step's call and all that it points to.
class ExpertStep {
 public:
  // Rows in all, or exactly so many for each unit. Inputs are random in [-1, 1), they and the
  // routing a function of the seed.
  ExpertStep(const ExpertShape& shape, uint32_t rows, bool per_unit, uint64_t seed);

  // Routes anew: uniformly, each row to top_k experts of the shape's; or all rows to the same
  // top_k. The distinct experts of the step become the next units of the store.
  void Route(UnitStore* store);

  const kernels::GroupedCall& call() const { return call_; }
  std::span<const std::byte* const> addresses() const { return addresses_; }
  uint32_t units() const { return call_.unit_count; }
  uint32_t rows() const { return rows_; }
  uint32_t pairs() const { return rows_ * shape_.top_k; }

  // Before a run, so that results of an earlier one cannot pass for its own.
  void Poison();
  // Whether the call wrote a finite number into every place, not all of them 0.
  bool Computed() const;

 private:
  const ExpertShape shape_;
  const uint32_t rows_;
  const bool per_unit_;
  std::mt19937_64 random_;
  std::vector<float> x_, partials_;
  std::vector<uint32_t> experts_;                // all of them, shuffled as far as a row needs
  std::vector<std::vector<uint32_t>> pairs_of_;  // [expert]
  std::vector<kernels::WaveUnit> units_;
  std::vector<uint32_t> pairs_;
  std::vector<const std::byte*> addresses_;
  kernels::GroupedCall call_;
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_EXPERT_LOAD_H_
