// What the host's three ways to run experts share: a call's units as segments of pairs, the
// matrices, and how the work is cut into pieces.
#ifndef BERTH_KERNELS_EXPERT_EXPERT_BATCH_H_
#define BERTH_KERNELS_EXPERT_EXPERT_BATCH_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/exact/float_mode.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/formats/format.h"
#include "kernels/host/worker_pool.h"
#include "runtime/base/check.h"
#include "runtime/base/math.h"

namespace berth::kernels {

// Pairs of one unit, as many as a batch takes at once.
struct Segment {
  const std::byte* address = nullptr;  // of the unit
  const int64_t* shifts = nullptr;     // WaveUnit::shifts
  uint32_t expert = 0;
  const uint32_t* pairs = nullptr;  // of the call
  uint32_t pair_count = 0;
  uint32_t first = 0;  // place of the first pair in the batch's scratch memory
};

// A matrix of a call with its format looked up once.
struct Matrix {
  const MatrixSpec* spec = nullptr;
  const Format* format = nullptr;
  const SiblingSpec* sibling = nullptr;
  uint32_t part = 0;  // of WaveUnit::shifts

  Matrix() = default;
  Matrix(const MatrixSpec& matrix, const SiblingSpec& siblings, uint32_t which)
      : spec(&matrix), format(FindFormat(matrix.type)), sibling(&siblings), part(which) {
    BERTH_CHECK_MSG(format != nullptr, "an expert tensor of a type without a format");
    BERTH_CHECK(matrix.cols % format->block_elements == 0);
  }

  const std::byte* Row(const Segment& segment, uint32_t row) const {
    return segment.address + segment.shifts[part] + spec->offset + row * spec->row_bytes;
  }
  void DecodeRow(const Segment& segment, uint32_t row, float* to) const {
    format->decode(Row(segment, row), spec->cols / format->block_elements, to);
  }
  float Scale(uint32_t expert) const {
    return sibling->scale.empty() ? 1.0f : sibling->scale[expert];
  }
  // Of output rows 0, 1, ...; null: none.
  const float* Bias(uint32_t expert) const {
    return sibling->bias.empty()
               ? nullptr
               : sibling->bias.data() + static_cast<uint64_t>(expert) * spec->rows;
  }
};

// scale * (weight * (W x)) + bias: the scale stands for the weights' own, so it comes before the
// bias; the router's weight, where it goes to the input, passes through W.
inline float ApplySiblings(float product, float weight, float scale, float bias) {
  return WithOneNan(scale * (weight * product) + bias);
}

// Segments that are run together.
struct ExpertBatch {
  const GroupedCall* call = nullptr;
  Matrix gate, up, down;
  std::span<const Segment> segments;

  bool has_gate() const { return call->spec->conventions.has_gate(); }
  const float* Input(uint32_t pair) const {
    return call->x + uint64_t{pair / call->top_k} * call->spec->hidden;
  }
  // The router's, where it goes to the input.
  float InputWeight(uint32_t pair) const {
    return call->spec->conventions.weights_before ? call->weights[pair] : 1.0f;
  }
  float* Partial(uint32_t pair) const {
    return call->partials + uint64_t{pair} * call->spec->hidden;
  }
};

// body(index, thread) for every index below `count`, at most `grain` of them in one go, in the
// float environment of the arithmetic.
template <typename Body>
void ParallelEach(WorkerPool* pool, uint32_t count, uint32_t grain, const Body& body) {
  pool->ParallelFor(
      count, grain,
      [](void* context, uint32_t begin, uint32_t end, uint32_t thread) {
        const FloatMode mode;
        const Body& each = *static_cast<const Body*>(context);
        for (uint32_t index = begin; index < end; ++index) each(index, thread);
      },
      const_cast<Body*>(&body));
}

// Rows of a matrix that are handed out at least: what a piece costs by itself, and a reader of
// memory that starts anew, should not show.
inline uint32_t FewestRows(const MatrixSpec& matrix) {
  constexpr uint64_t kFewestWeights = 32 * 1024;
  constexpr uint64_t kMultiple = 16;  // kernels take so many rows at once, or fewer
  const uint64_t rows = CeilDiv(kFewestWeights, std::max(matrix.cols, 1u));
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(AlignUp(rows, kMultiple), 1, std::max(matrix.rows, 1u)));
}

// body(segment, first row, last row, thread) for pieces of the rows of every segment's matrix. The
// rows of all segments lie in one queue; whoever is free takes a share of what is left of it, so
// that pieces are long at first, since a reader of memory gets faster as it goes, and short in the
// end, where everybody waits for the last one.
template <typename Body>
void ForEachPiece(WorkerPool* pool, const ExpertBatch& batch, const MatrixSpec& matrix,
                  const Body& body) {
  const auto segments = static_cast<uint32_t>(batch.segments.size());
  const uint32_t threads = pool->thread_count();
  const uint32_t fewest = threads == 1 ? std::max(matrix.rows, 1u) : FewestRows(matrix);
  // In units of `fewest` rows, the last of a segment's maybe less.
  const auto of_segment = static_cast<uint32_t>(CeilDiv(matrix.rows, fewest));
  const uint64_t all = uint64_t{segments} * of_segment;
  std::atomic<uint64_t> next = 0;
  ParallelEach(pool, threads, 1, [&](uint32_t, uint32_t thread) {
    uint64_t begin = next.load(std::memory_order_relaxed);
    while (begin < all) {
      const uint64_t left_of_segment = of_segment - begin % of_segment;
      const uint64_t share = std::max<uint64_t>((all - begin) / (3 * threads), 1);
      const uint64_t end = begin + std::min(share, left_of_segment);
      if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      const uint32_t first = static_cast<uint32_t>(begin % of_segment) * fewest;
      const auto rows = static_cast<uint32_t>((end - begin) * fewest);
      body(batch.segments[begin / of_segment], first, std::min(first + rows, matrix.rows), thread);
      begin = next.load(std::memory_order_relaxed);
    }
  });
}

// One way to run experts, with scratch memory of its own.
class ExpertMath {
 public:
  virtual ~ExpertMath() = default;
  virtual uint64_t bytes() const = 0;
  // Pairs that a batch holds at most, and that a segment of `pair_count` pairs takes of them.
  virtual uint32_t capacity() const = 0;
  virtual uint32_t Taken(uint32_t pair_count) const { return pair_count; }
  virtual void Run(const ExpertBatch& batch) = 0;
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_EXPERT_BATCH_H_
