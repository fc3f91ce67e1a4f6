#include "kernels/expert/host_expert.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/exact/exact_kernels.h"
#include "kernels/expert/exact_expert.h"
#include "kernels/expert/f32_expert.h"
#include "kernels/expert/wide_expert.h"

namespace berth::kernels {
namespace {

// The first column of a row that is infinite or no number; `count`: none.
uint32_t FirstNotFinite(const float* x, uint32_t count) {
  // Sums of zeros, unless one of the values times zero is not zero. Several, for a single one would
  // make every addition wait for the one before.
  constexpr uint32_t kSums = 16;
  float sums[kSums] = {};
  uint32_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (uint32_t lane = 0; lane < kSums; ++lane) sums[lane] += x[i + lane] * 0.0f;
  }
  float sum = 0;
  for (; i < count; ++i) sum += x[i] * 0.0f;
  for (const float lane : sums) sum += lane;
  if (sum == 0.0f) return count;
  const auto bad = [](float value) { return value * 0.0f != 0.0f; };
  return static_cast<uint32_t>(std::find_if(x, x + count, bad) - x);
}

}  // namespace

struct HostExpertWorkspace::Impl {
  Arithmetic arithmetic;
  uint32_t max_hidden, max_ffn, max_pairs;
  std::unique_ptr<ExpertMath> few;   // exact, or F32 where that is all there is
  std::unique_ptr<ExpertMath> many;  // wide
  std::vector<Segment> segments;

  Status Check(const GroupedCall& call) const;
  // The units that `exact` says, as many at once as go into a batch.
  void RunSome(ExpertMath* math, bool exact, ExpertBatch* batch,
               std::span<const std::byte* const> addresses);
};

HostExpertWorkspace::HostExpertWorkspace(WorkerPool* pool, uint32_t max_hidden, uint32_t max_ffn,
                                         uint32_t max_pairs, const HostMath& math)
    : impl_(std::make_unique<Impl>()) {
  impl_->arithmetic = math.arithmetic;
  impl_->max_hidden = max_hidden;
  impl_->max_ffn = max_ffn;
  impl_->max_pairs = max_pairs;
  impl_->segments.reserve(max_pairs);
  if (math.arithmetic.mode == ArithmeticMode::kF32) {
    impl_->few = std::make_unique<F32Expert>(pool, max_hidden, max_ffn, max_pairs);
    return;
  }
  const uint32_t exact_rows = math.arithmetic.exact_rows;
  BERTH_CHECK(exact_rows <= kMostExactRows);
  const ExactKernels& kernels = KernelsOf(math.isa);
  if (exact_rows > 0) {
    impl_->few =
        std::make_unique<ExactExpert>(pool, kernels, exact_rows, max_hidden, max_ffn, max_pairs);
  }
  if (max_pairs > exact_rows) {
    impl_->many = std::make_unique<WideExpert>(pool, kernels, max_hidden, max_ffn, max_pairs);
  }
}

HostExpertWorkspace::~HostExpertWorkspace() = default;

uint64_t HostExpertWorkspace::PlannedBytes(uint32_t threads, uint32_t max_hidden, uint32_t max_ffn,
                                           uint32_t max_pairs, const Arithmetic& arithmetic) {
  uint64_t bytes = max_pairs * sizeof(Segment);
  if (arithmetic.mode == ArithmeticMode::kF32) {
    return bytes + F32Expert::PlannedBytes(threads, max_hidden, max_ffn, max_pairs);
  }
  if (arithmetic.exact_rows > 0) {
    bytes +=
        ExactExpert::PlannedBytes(threads, arithmetic.exact_rows, max_hidden, max_ffn, max_pairs);
  }
  if (max_pairs > arithmetic.exact_rows) {
    bytes += WideExpert::PlannedBytes(threads, max_hidden, max_ffn, max_pairs);
  }
  return bytes;
}

uint64_t HostExpertWorkspace::bytes() const {
  uint64_t bytes = impl_->segments.capacity() * sizeof(Segment);
  if (impl_->few != nullptr) bytes += impl_->few->bytes();
  if (impl_->many != nullptr) bytes += impl_->many->bytes();
  return bytes;
}

Status HostExpertWorkspace::Impl::Check(const GroupedCall& call) const {
  const ExpertSpec& spec = *call.spec;
  for (uint32_t i = 0; i < call.unit_count; ++i) {
    const WaveUnit& unit = call.units[i];
    for (uint32_t at = 0; at < unit.pair_count; ++at) {
      const uint32_t row = call.pairs[unit.first_pair + at] / call.top_k;
      const uint32_t col = FirstNotFinite(call.x + uint64_t{row} * spec.hidden, spec.hidden);
      if (col == spec.hidden) continue;
      return InvalidArgumentError("the input of the experts, row " + std::to_string(row) +
                                  ", column " + std::to_string(col) + ", is infinite or no number");
    }
  }
  return Status();
}

void HostExpertWorkspace::Impl::RunSome(ExpertMath* math, bool exact, ExpertBatch* batch,
                                        std::span<const std::byte* const> addresses) {
  const GroupedCall& call = *batch->call;
  uint32_t taken = 0;
  const auto flush = [&] {
    batch->segments = segments;
    if (!segments.empty()) math->Run(*batch);
    segments.clear();
    taken = 0;
  };
  segments.clear();
  for (uint32_t i = 0; i < call.unit_count; ++i) {
    const WaveUnit& unit = call.units[i];
    const bool is_exact =
        arithmetic.mode == ArithmeticMode::kF32 || arithmetic.IsExact(unit.pair_count);
    if (is_exact != exact) continue;
    for (uint32_t done = 0; done < unit.pair_count;) {
      // An exact unit stays whole: its weights are read once.
      const uint32_t left = unit.pair_count - done;
      const uint32_t room = math->capacity() - taken;
      if (room == 0 || (taken > 0 && math->Taken(left) > room)) {
        flush();
        continue;
      }
      const uint32_t count = std::min(left, room);
      segments.push_back({addresses[i], unit.shifts.data(), unit.expert,
                          call.pairs + unit.first_pair + done, count, taken});
      taken += math->Taken(count);
      done += count;
    }
  }
  flush();
}

Status HostExpertWorkspace::Run(const GroupedCall& call,
                                std::span<const std::byte* const> addresses) {
  const FloatMode mode;
  const ExpertSpec& spec = *call.spec;
  BERTH_CHECK(spec.hidden <= impl_->max_hidden && spec.ffn <= impl_->max_ffn);
  BERTH_CHECK(spec.up.rows == spec.ffn && spec.up.cols == spec.hidden);
  BERTH_CHECK(spec.down.rows == spec.hidden && spec.down.cols == spec.ffn);
  BERTH_CHECK(addresses.size() == call.unit_count);
  for (uint32_t i = 0; i < call.unit_count; ++i) {
    const WaveUnit& unit = call.units[i];
    BERTH_CHECK(unit.expert < spec.experts);
    BERTH_CHECK(unit.first_pair <= impl_->max_pairs &&
                unit.pair_count <= impl_->max_pairs - unit.first_pair);
  }
  if (call.unit_count == 0) return Status();
  BERTH_RETURN_IF_ERROR(impl_->Check(call));
  ExpertBatch batch;
  batch.call = &call;
  if (spec.conventions.has_gate()) {
    BERTH_CHECK(spec.gate.rows == spec.ffn && spec.gate.cols == spec.hidden);
    batch.gate = Matrix(spec.gate, spec.gate_sibling, 0);
  }
  batch.up = Matrix(spec.up, spec.up_sibling, 1);
  batch.down = Matrix(spec.down, spec.down_sibling, 2);
  if (impl_->few != nullptr) impl_->RunSome(impl_->few.get(), true, &batch, addresses);
  if (impl_->many != nullptr) impl_->RunSome(impl_->many.get(), false, &batch, addresses);
  return Status();
}

}  // namespace berth::kernels
