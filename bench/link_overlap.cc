#include "bench/link_overlap.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "bench/stopwatch.h"
#include "runtime/base/math.h"
#include "runtime/base/median.h"

namespace berth::bench {

using kernels::CopyDirection;
using kernels::Event;
using kernels::Stream;
using kernels::WaveUnit;

namespace {

uint64_t BytesOf(const kernels::MatrixSpec& matrix) { return matrix.rows * matrix.row_bytes; }

// Slots 0 to units - 1 hold the hits; misses go into the ring behind them.
class Overlap {
 public:
  explicit Overlap(const OverlapLoad& load)
      : load_(load), spec_(MakeExpertSpec(load.pair, load.shape)) {}

  Status Open(const std::string& device) {
    LinkShape shape;
    shape.tensors = {BytesOf(spec_.gate), BytesOf(spec_.up), BytesOf(spec_.down)};
    shape.units = 2 * load_.units;
    const uint64_t floats = (2 * load_.units + 1) * uint64_t{spec_.hidden};
    BERTH_ASSIGN_OR_RETURN(
        card_, LinkCard::Open(device, load_.copy_path, shape, floats * sizeof(float) + kCardAlign));
    FillHost();
    BERTH_RETURN_IF_ERROR(MakeCallMemory());
    kernels::StreamOptions copies;
    copies.name = "copies";
    BERTH_ASSIGN_OR_RETURN(copies_, card_->device().CreateStream(copies));
    kernels::StreamOptions calls;
    calls.name = "calls";
    calls.max_hidden = spec_.hidden;
    calls.max_ffn = spec_.ffn;
    calls.max_pairs = 2 * load_.units;
    BERTH_ASSIGN_OR_RETURN(calls_, card_->device().CreateStream(calls));
    for (uint32_t first = 0; first < load_.units; first += load_.chunk) {
      BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, card_->device().CreateEvent());
      copied_.push_back(std::move(event));
    }
    BERTH_RETURN_IF_ERROR(card_->device().CreateTable(1));
    for (uint32_t slot = 0; slot < 2 * load_.units; ++slot) {
      BERTH_RETURN_IF_ERROR(copies_->Copy(CopyDirection::kToCard, card_->Tensors(slot)));
    }
    return copies_->Synchronize();
  }

  // Seconds of one step.
  Result<double> Step(bool copy, bool compute) {
    const Stopwatch watch(Clock::kWall);
    // Copies first: they take longest to be over.
    for (uint32_t wave = 0; copy && wave < copied_.size(); ++wave) {
      const uint32_t end = std::min((wave + 1) * load_.chunk, load_.units);
      for (uint32_t i = wave * load_.chunk; i < end; ++i) {
        BERTH_RETURN_IF_ERROR(
            copies_->Copy(CopyDirection::kToCard, card_->Tensors(load_.units + i)));
      }
      BERTH_RETURN_IF_ERROR(copies_->Record(copied_[wave].get()));
    }
    if (compute) {
      BERTH_RETURN_IF_ERROR(Run(0, load_.units));
      for (uint32_t wave = 0; wave < copied_.size(); ++wave) {
        const uint32_t first = load_.units + wave * load_.chunk;
        const uint32_t count = std::min(load_.chunk, 2 * load_.units - first);
        if (copy) BERTH_RETURN_IF_ERROR(calls_->Wait(copied_[wave].get()));
        BERTH_RETURN_IF_ERROR(Run(first, count));
      }
      BERTH_RETURN_IF_ERROR(calls_->Synchronize());
    }
    if (copy) BERTH_RETURN_IF_ERROR(copies_->Synchronize());
    return watch.Seconds();
  }

  // Whether the last step left numbers everywhere.
  Status Check() {
    const uint64_t bytes = 2 * load_.units * uint64_t{spec_.hidden} * sizeof(float);
    const kernels::CopySegment back = {reinterpret_cast<const std::byte*>(partials_), results_,
                                       bytes};
    BERTH_RETURN_IF_ERROR(copies_->Copy(CopyDirection::kToHost, {&back, 1}));
    BERTH_RETURN_IF_ERROR(copies_->Synchronize());
    std::vector<float> results(bytes / sizeof(float));
    std::memcpy(results.data(), results_, bytes);
    const auto finite = [](float value) { return std::isfinite(value); };
    const auto nonzero = [](float value) { return value != 0; };
    if (std::all_of(results.begin(), results.end(), finite) &&
        std::any_of(results.begin(), results.end(), nonzero)) {
      return Status();
    }
    return InternalError("a step left results that are no numbers");
  }

  ~Overlap() {
    calls_.reset();
    copies_.reset();
    if (registered_) (void)card_->device().UnregisterHost(region_.data());
  }

 private:
  void FillHost() {
    std::vector<std::byte> unit(spec_.unit_bytes);
    GenerateUnit(spec_, 1, unit.data());
    const uint64_t offsets[] = {spec_.gate.offset, spec_.up.offset, spec_.down.offset};
    for (uint32_t slot = 0; slot < 2 * load_.units; ++slot) {
      const std::vector<kernels::CopySegment> tensors = card_->Tensors(slot);
      for (size_t t = 0; t < tensors.size(); ++t) {
        std::memcpy(const_cast<std::byte*>(tensors[t].from), &unit[offsets[t]], tensors[t].bytes);
      }
    }
  }

  // One row that routes to every unit.
  Status MakeCallMemory() {
    const uint32_t count = 2 * load_.units;
    arena::HostRegionOptions options;
    options.bytes = count * (sizeof(WaveUnit) + sizeof(uint32_t)) +
                    (count + 1) * uint64_t{spec_.hidden} * sizeof(float);
    options.purpose = "calls";
    BERTH_ASSIGN_OR_RETURN(region_, arena::HostRegion::Create(options));
    BERTH_RETURN_IF_ERROR(card_->device().RegisterHost(region_.data(), region_.bytes()));
    registered_ = true;
    x_ = reinterpret_cast<float*>(region_.data());
    std::mt19937_64 random(1);
    std::uniform_real_distribution<float> value(-1.0f, 1.0f);
    std::generate_n(x_, spec_.hidden, [&] { return value(random); });
    results_ = region_.data() + spec_.hidden * sizeof(float);
    units_ = reinterpret_cast<WaveUnit*>(results_ + count * uint64_t{spec_.hidden} * sizeof(float));
    pairs_ = reinterpret_cast<uint32_t*>(units_ + count);
    for (uint32_t i = 0; i < count; ++i) {
      units_[i] = WaveUnit{0, 0, i, 1, card_->card(i)};
      pairs_[i] = i;
    }
    partials_ = reinterpret_cast<float*>(card_->extra());
    return Status();
  }

  Status Run(uint32_t first, uint32_t count) {
    kernels::GroupedCall call;
    call.spec = &spec_;
    call.units = units_ + first;
    call.unit_count = count;
    call.pairs = pairs_;
    call.top_k = 2 * load_.units;
    call.x = x_;
    call.partials = partials_;
    return calls_->Run(call);
  }

  const OverlapLoad& load_;
  const kernels::ExpertSpec spec_;
  std::unique_ptr<LinkCard> card_;
  arena::HostRegion region_;  // what calls point to
  bool registered_ = false;
  float* x_ = nullptr;
  std::byte* results_ = nullptr;
  WaveUnit* units_ = nullptr;
  uint32_t* pairs_ = nullptr;
  float* partials_ = nullptr;  // on the card
  std::vector<std::unique_ptr<Event>> copied_;
  std::unique_ptr<Stream> copies_, calls_;
};

}  // namespace

Result<OverlapResult> RunOverlap(const std::string& device, const OverlapLoad& load) {
  Overlap overlap(load);
  BERTH_RETURN_IF_ERROR(overlap.Open(device));
  std::vector<double> copy, compute, step;
  for (uint32_t i = 0; i < load.steps; ++i) {
    // In turns, the first of each as a warm-up.
    BERTH_ASSIGN_OR_RETURN(const double copied, overlap.Step(true, false));
    BERTH_ASSIGN_OR_RETURN(const double computed, overlap.Step(false, true));
    BERTH_ASSIGN_OR_RETURN(const double both, overlap.Step(true, true));
    if (i == 0 && load.steps > 1) continue;
    copy.push_back(copied);
    compute.push_back(computed);
    step.push_back(both);
  }
  BERTH_RETURN_IF_ERROR(overlap.Check());
  return OverlapResult{Median(copy), Median(compute), Median(step)};
}

}  // namespace berth::bench
