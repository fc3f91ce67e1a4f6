#include "bench/exact_chain.h"

#include <algorithm>

#include "kernels/exact/float_mode.h"
#include "kernels/formats/format.h"
#include "runtime/base/math.h"

namespace berth::bench {

using kernels::ActivationRow;
using kernels::DotCall;
using kernels::ExactKernels;
using kernels::ExpertSpec;
using kernels::MatrixSpec;
using kernels::WaveUnit;

namespace {

constexpr uint32_t kTile = 32;        // weight rows that are computed before their results are used
constexpr uint32_t kAlign = 64;       // of what kernels read
constexpr uint32_t kPieceRows = 160;  // of one matrix, for one thread

uint32_t Padded(uint32_t cols) { return static_cast<uint32_t>(AlignUp(cols, 256)); }

template <typename T>
T* Aligned(std::vector<T>& values) {
  const auto address = reinterpret_cast<uintptr_t>(values.data());
  return values.data() + (AlignUp(address, kAlign) - address) / sizeof(T);
}

// A tile of a matrix for up to kMaxDotRows rows: out[r * kTile + w].
void Dot(const ExactKernels& kernels, const MatrixSpec& matrix, const std::byte* unit,
         uint32_t first, uint32_t count, const ActivationRow* rows, uint32_t row_count,
         float* out) {
  DotCall call;
  call.format = kernels::FindFormat(matrix.type);
  call.weights = unit + matrix.offset + first * matrix.row_bytes;
  call.row_bytes = matrix.row_bytes;
  call.weight_rows = count;
  call.cols = matrix.cols;
  call.rows = rows;
  call.row_count = row_count;
  call.out = out;
  call.out_stride = kTile;
  kernels.dot(matrix.type)(call);
}

// body(first pair of the unit, pairs, first weight row, weight rows) in tiles: all pairs of a tile
// before the next one, so that its weights come from memory once.
template <typename Body>
void ForEachTile(uint32_t pairs, uint32_t begin, uint32_t end, const Body& body) {
  for (uint32_t row = begin; row < end; row += kTile) {
    for (uint32_t pair = 0; pair < pairs; pair += kernels::kMaxDotRows) {
      body(pair, std::min(kernels::kMaxDotRows, pairs - pair), row, std::min(kTile, end - row));
    }
  }
}

}  // namespace

void ExactChain::Quantized::Resize(uint32_t count, uint32_t cols) {
  const size_t padded = Padded(cols);
  q.resize(count * padded + kAlign);
  d.resize(count * padded / 32 + kAlign);
  // A row's sums are 32 bytes or a multiple of it; rounded up, all rows are aligned.
  sums.resize(count * AlignUp(padded / 16, 32) + kAlign);
  rows.resize(count);
}

void ExactChain::Quantized::Fill(const ExactKernels& kernels, const float* x, uint32_t cols,
                                 uint32_t row) {
  const size_t padded = Padded(cols);
  int8_t* const to_q = Aligned(q) + row * padded;
  float* const to_d = Aligned(d) + row * padded / 32;
  int16_t* const to_sums = Aligned(sums) + row * AlignUp(padded / 16, 32);
  kernels.quantize(x, cols, to_q, to_d, to_sums);
  rows[row] = {x, to_q, to_d, to_sums};
}

template <typename Body>
void ExactChain::ForEach(uint32_t count, const Body& body) {
  pool_->ParallelFor(
      count, 1,
      [](void* context, uint32_t begin, uint32_t end, uint32_t) {
        const kernels::FloatMode mode;
        for (uint32_t i = begin; i < end; ++i) (*static_cast<const Body*>(context))(i);
      },
      const_cast<Body*>(&body));
}

void ExactChain::Run(const kernels::GroupedCall& call, uint32_t rows,
                     std::span<const std::byte* const> addresses) {
  const ExactKernels& kernels = kernels::KernelsOf(isa_);
  const ExpertSpec& spec = *call.spec;
  const uint32_t pairs = rows * call.top_k;
  inputs_.Resize(rows, spec.hidden);
  middles_.Resize(pairs, spec.ffn);
  activations_.resize(uint64_t{pairs} * spec.ffn);
  ForEach(rows, [&](uint32_t row) {
    inputs_.Fill(kernels, call.x + uint64_t{row} * spec.hidden, spec.hidden, row);
  });

  const auto up_pieces = static_cast<uint32_t>(CeilDiv(spec.ffn, kPieceRows));
  ForEach(call.unit_count * up_pieces, [&](uint32_t index) {
    const WaveUnit& unit = call.units[index / up_pieces];
    const std::byte* const weights = addresses[index / up_pieces];
    const uint32_t begin = index % up_pieces * kPieceRows;
    const uint32_t end = std::min(begin + kPieceRows, spec.ffn);
    ForEachTile(
        unit.pair_count, begin, end, [&](uint32_t pair, uint32_t n, uint32_t row, uint32_t count) {
          ActivationRow x[kernels::kMaxDotRows];
          float gate[kernels::kMaxDotRows * kTile], up[kernels::kMaxDotRows * kTile];
          for (uint32_t i = 0; i < n; ++i) {
            x[i] = inputs_.rows[call.pairs[unit.first_pair + pair + i] / call.top_k];
          }
          Dot(kernels, spec.gate, weights, row, count, x, n, gate);
          Dot(kernels, spec.up, weights, row, count, x, n, up);
          for (uint32_t i = 0; i < n; ++i) {
            kernels.activate(spec.conventions, gate + i * kTile, up + i * kTile, count,
                             &activations_[uint64_t{unit.first_pair + pair + i} * spec.ffn + row]);
          }
        });
  });

  ForEach(pairs, [&](uint32_t place) {
    middles_.Fill(kernels, &activations_[uint64_t{place} * spec.ffn], spec.ffn, place);
  });
  const auto down_pieces = static_cast<uint32_t>(CeilDiv(spec.hidden, 4 * kPieceRows));
  ForEach(call.unit_count * down_pieces, [&](uint32_t index) {
    const WaveUnit& unit = call.units[index / down_pieces];
    const std::byte* const weights = addresses[index / down_pieces];
    const uint32_t begin = index % down_pieces * 4 * kPieceRows;
    const uint32_t end = std::min(begin + 4 * kPieceRows, spec.hidden);
    ForEachTile(
        unit.pair_count, begin, end, [&](uint32_t pair, uint32_t n, uint32_t row, uint32_t count) {
          float out[kernels::kMaxDotRows * kTile];
          const uint32_t first = unit.first_pair + pair;
          Dot(kernels, spec.down, weights, row, count, &middles_.rows[first], n, out);
          for (uint32_t i = 0; i < n; ++i) {
            std::copy_n(out + i * kTile, count,
                        call.partials + uint64_t{call.pairs[first + i]} * spec.hidden + row);
          }
        });
  });
}

}  // namespace berth::bench
