#include "kernels/expert/host_expert.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/expert/activation.h"
#include "kernels/expert/dot.h"
#include "kernels/formats/format.h"
#include "runtime/base/check.h"
#include "runtime/base/math.h"

namespace berth::kernels {
namespace {

// Weights per piece of work: some tens of microseconds, and a stretch of the unit that its reader
// goes through in order.
constexpr uint64_t kPieceWeights = 64 * 1024;

uint32_t PieceRows(const MatrixSpec& matrix) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(kPieceWeights / std::max(matrix.cols, 1u), 1, matrix.rows));
}

// A matrix of the call with its format looked up once.
struct Matrix {
  const MatrixSpec* spec = nullptr;
  const Format* format = nullptr;
  const SiblingSpec* sibling = nullptr;

  Matrix() = default;
  Matrix(const MatrixSpec& matrix, const SiblingSpec& siblings)
      : spec(&matrix), format(FindFormat(matrix.type)), sibling(&siblings) {
    BERTH_CHECK_MSG(format != nullptr, "an expert tensor of a type without a format");
    BERTH_CHECK(matrix.cols % format->block_elements == 0);
  }

  void DecodeRow(const std::byte* unit, uint32_t row, float* to) const {
    format->decode(unit + spec->offset + row * spec->row_bytes, spec->cols / format->block_elements,
                   to);
  }

  // scale * (W x) + bias: the scale stands for the weights' own, so it comes first.
  float ApplySiblings(float product, uint32_t expert, uint32_t row) const {
    if (!sibling->scale.empty()) product *= sibling->scale[expert];
    if (!sibling->bias.empty()) {
      product += sibling->bias[static_cast<uint64_t>(expert) * spec->rows + row];
    }
    return product;
  }
};

}  // namespace

struct HostExpertWorkspace::Impl {
  WorkerPool* pool;
  uint32_t max_hidden, max_ffn, max_pairs;
  uint64_t row_floats;             // a decoded row, rounded up so that threads share no line
  std::vector<float> rows;         // [threads][2][row_floats]: a gate and an up row, or a down row
  std::vector<float> activations;  // [pairs][ffn]: what goes into down

  // The call that runs.
  const GroupedCall* call = nullptr;
  const std::byte* const* addresses = nullptr;
  Matrix gate, up, down;

  float* RowBuffer(uint32_t thread, uint32_t which) {
    return rows.data() + (uint64_t{thread} * 2 + which) * row_floats;
  }
  float* Activations(uint32_t pair_index) {
    return activations.data() + uint64_t{pair_index} * call->spec->ffn;
  }

  void GateUpRow(const WaveUnit& unit, const std::byte* address, uint32_t row, uint32_t thread);
  void DownRow(const WaveUnit& unit, const std::byte* address, uint32_t row, uint32_t thread);

  // One task index is one piece of the rows of one unit.
  template <void (Impl::*kRow)(const WaveUnit&, const std::byte*, uint32_t, uint32_t)>
  void ForEachRow(const MatrixSpec& matrix);
};

// One output row of gate and up for all pairs of the unit: decoded once, used for each.
void HostExpertWorkspace::Impl::GateUpRow(const WaveUnit& unit, const std::byte* address,
                                          uint32_t row, uint32_t thread) {
  const ExpertSpec& spec = *call->spec;
  const bool has_gate = spec.conventions.has_gate();
  float* gate_row = RowBuffer(thread, 0);
  float* up_row = RowBuffer(thread, 1);
  if (has_gate) gate.DecodeRow(address + unit.shifts[0], row, gate_row);
  up.DecodeRow(address + unit.shifts[1], row, up_row);
  for (uint32_t i = 0; i < unit.pair_count; ++i) {
    const uint32_t pair = call->pairs[unit.first_pair + i];
    const float* x = call->x + uint64_t{pair / call->top_k} * spec.hidden;
    // A weight on the input passes through W, so it can scale the products instead of a copy of x.
    const float weight = spec.conventions.weights_before ? call->weights[pair] : 1.0f;
    const float u = up.ApplySiblings(weight * Dot(up_row, x, spec.hidden), unit.expert, row);
    const float g =
        has_gate ? gate.ApplySiblings(weight * Dot(gate_row, x, spec.hidden), unit.expert, row)
                 : 0.0f;
    Activations(unit.first_pair + i)[row] = Activate(spec.conventions, g, u);
  }
}

void HostExpertWorkspace::Impl::DownRow(const WaveUnit& unit, const std::byte* address,
                                        uint32_t row, uint32_t thread) {
  const ExpertSpec& spec = *call->spec;
  float* down_row = RowBuffer(thread, 0);
  down.DecodeRow(address + unit.shifts[2], row, down_row);
  for (uint32_t i = 0; i < unit.pair_count; ++i) {
    const uint64_t pair = call->pairs[unit.first_pair + i];
    const float product = Dot(down_row, Activations(unit.first_pair + i), spec.ffn);
    call->partials[pair * spec.hidden + row] = down.ApplySiblings(product, unit.expert, row);
  }
}

template <void (HostExpertWorkspace::Impl::*kRow)(const WaveUnit&, const std::byte*, uint32_t,
                                                  uint32_t)>
void HostExpertWorkspace::Impl::ForEachRow(const MatrixSpec& matrix) {
  struct Work {
    Impl* impl;
    uint32_t rows, piece_rows, pieces;  // of one unit
  };
  const uint32_t piece_rows = PieceRows(matrix);
  const auto pieces = static_cast<uint32_t>(CeilDiv(matrix.rows, piece_rows));
  Work work{this, matrix.rows, piece_rows, pieces};
  pool->ParallelFor(
      call->unit_count * pieces, 1,
      [](void* context, uint32_t begin, uint32_t end, uint32_t thread) {
        const Work& work = *static_cast<const Work*>(context);
        for (uint32_t index = begin; index < end; ++index) {
          const uint32_t unit = index / work.pieces;
          const uint32_t first = index % work.pieces * work.piece_rows;
          const uint32_t last = std::min(first + work.piece_rows, work.rows);
          for (uint32_t row = first; row < last; ++row) {
            (work.impl->*kRow)(work.impl->call->units[unit], work.impl->addresses[unit], row,
                               thread);
          }
        }
      },
      &work);
}

HostExpertWorkspace::HostExpertWorkspace(WorkerPool* pool, uint32_t max_hidden, uint32_t max_ffn,
                                         uint32_t max_pairs)
    : impl_(std::make_unique<Impl>()) {
  impl_->pool = pool;
  impl_->max_hidden = max_hidden;
  impl_->max_ffn = max_ffn;
  impl_->max_pairs = max_pairs;
  impl_->row_floats = AlignUp(std::max(max_hidden, max_ffn), 32);
  impl_->rows.resize(uint64_t{pool->thread_count()} * 2 * impl_->row_floats);
  impl_->activations.resize(uint64_t{max_pairs} * max_ffn);
}

HostExpertWorkspace::~HostExpertWorkspace() = default;

uint64_t HostExpertWorkspace::bytes() const {
  return (impl_->rows.capacity() + impl_->activations.capacity()) * sizeof(float);
}

void HostExpertWorkspace::Run(const GroupedCall& call,
                              std::span<const std::byte* const> addresses) {
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
  if (call.unit_count == 0) return;
  impl_->call = &call;
  impl_->addresses = addresses.data();
  if (spec.conventions.has_gate()) {
    BERTH_CHECK(spec.gate.rows == spec.ffn && spec.gate.cols == spec.hidden);
    impl_->gate = Matrix(spec.gate, spec.gate_sibling);
  }
  impl_->up = Matrix(spec.up, spec.up_sibling);
  impl_->down = Matrix(spec.down, spec.down_sibling);
  impl_->ForEachRow<&Impl::GateUpRow>(spec.up);
  impl_->ForEachRow<&Impl::DownRow>(spec.down);
}

}  // namespace berth::kernels
