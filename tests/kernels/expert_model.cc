#include "tests/kernels/expert_model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "kernels/formats/format.h"
#include "runtime/base/math.h"

namespace berth::kernels::testing {
namespace {

std::vector<float> DecodeMatrix(const MatrixSpec& matrix, const std::byte* unit) {
  if (matrix.rows == 0) return {};
  const Format& format = *FindFormat(matrix.type);
  std::vector<float> weights(uint64_t{matrix.rows} * matrix.cols);
  format.decode(unit + matrix.offset, weights.size() / format.block_elements, weights.data());
  return weights;
}

std::vector<double> MatVec(const std::vector<float>& weights, const std::vector<double>& x) {
  std::vector<double> y(weights.size() / x.size());
  const float* row = weights.data();
  for (double& sum : y) {
    for (size_t c = 0; c < x.size(); ++c) sum += static_cast<double>(row[c]) * x[c];
    row += x.size();
  }
  return y;
}

void ApplySiblings(const SiblingSpec& sibling, uint32_t expert, std::vector<double>& y) {
  for (size_t r = 0; r < y.size(); ++r) {
    if (!sibling.scale.empty()) y[r] *= sibling.scale[expert];
    if (!sibling.bias.empty()) y[r] += sibling.bias[expert * y.size() + r];
  }
}

double Sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

double ReferenceActivation(const ExpertConventions& c, double g, double u) {
  const double limit = c.limit;
  switch (c.activation) {
    case Activation::kSiluGate:
      return g * Sigmoid(g) * u;
    case Activation::kGeluGate:
      return 0.5 * g * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g))) * u;
    case Activation::kClampedGate: {
      const double clamped = g > limit ? limit : g;
      const double other = u > limit ? limit : (u < -limit ? -limit : u);
      return clamped * Sigmoid(static_cast<double>(c.alpha) * clamped) * (other + 1);
    }
    case Activation::kReluGate:
      return g > 0 ? g * u : 0;
    case Activation::kSquaredRelu:
      return u > 0 ? u * u : 0;
  }
  return 0;
}

MatrixSpec MakeMatrix(TensorType type, uint32_t rows, uint32_t cols, uint64_t* offset) {
  MatrixSpec matrix{type, rows, cols, *RowBytes(*FindFormat(type), cols), *offset};
  *offset += matrix.row_bytes * rows;
  return matrix;
}

void Generate(const MatrixSpec& matrix, uint64_t seed, std::byte* unit) {
  const Format& format = *FindFormat(matrix.type);
  format.generate(seed, 0, matrix.row_bytes * matrix.rows / format.block_bytes,
                  unit + matrix.offset);
}

SiblingSpec MakeSiblings(const LayerOptions& options, uint32_t rows, uint64_t seed) {
  SiblingSpec sibling;
  if (options.bias) sibling.bias = RandomValues(seed, uint64_t{options.experts} * rows);
  if (options.scale) {
    sibling.scale = RandomValues(seed + 1, options.experts);
    for (float& scale : sibling.scale) scale += 2;
  }
  return sibling;
}

}  // namespace

void TestPool::ParallelFor(uint32_t count, uint32_t grain, Task task, void* context) {
  std::atomic<uint32_t> next{0};
  const auto work = [&](uint32_t thread) {
    for (;;) {
      const uint32_t begin = next.fetch_add(grain);
      if (begin >= count) return;
      task(context, begin, std::min(begin + grain, count), thread);
    }
  };
  if (threads_ == 1) return work(0);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < threads_; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

Layer::Layer(const LayerOptions& options) {
  spec.experts = options.experts;
  spec.hidden = options.hidden;
  spec.ffn = options.ffn;
  spec.conventions = options.conventions;
  spec.conventions.gate_first = options.fused != Fused::kUpFirst;
  const bool gated = spec.conventions.has_gate();
  uint64_t end = 0;
  const auto tensor = [&](MatrixSpec& matrix, TensorType type, uint32_t rows, uint32_t cols) {
    if (options.fused == Fused::kNo) end = AlignUp(end, kCardAlign);
    matrix = MakeMatrix(type, rows, cols, &end);
  };
  if (gated && options.fused != Fused::kUpFirst) {
    tensor(spec.gate, options.gate_up_type, options.ffn, options.hidden);
  }
  tensor(spec.up, options.gate_up_type, options.ffn, options.hidden);
  if (gated && options.fused == Fused::kUpFirst) {
    tensor(spec.gate, options.gate_up_type, options.ffn, options.hidden);
  }
  end = AlignUp(end, kCardAlign);
  tensor(spec.down, options.down_type, options.hidden, options.ffn);
  spec.unit_bytes = end;
  if (gated) spec.gate_sibling = MakeSiblings(options, options.ffn, 100);
  spec.up_sibling = MakeSiblings(options, options.ffn, 200);
  spec.down_sibling = MakeSiblings(options, options.hidden, 300);
  for (uint32_t expert = 0; expert < options.experts; ++expert) {
    std::vector<std::byte> unit(spec.unit_bytes, std::byte{0xff});
    if (gated) Generate(spec.gate, 3 * expert, unit.data());
    Generate(spec.up, 3 * expert + 1, unit.data());
    Generate(spec.down, 3 * expert + 2, unit.data());
    units.push_back(std::move(unit));
  }
}

std::vector<float> RandomValues(uint64_t seed, size_t count) {
  std::vector<float> values(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (float& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int32_t>(state >> 40) - (1 << 23)) * 0x1p-23f;
  }
  return values;
}

bool Same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

RoutedRows::RoutedRows(const Layer& layer, uint32_t rows, uint32_t top_k)
    : x(RandomValues(1, uint64_t{rows} * layer.spec.hidden)),
      weights(RandomValues(2, uint64_t{rows} * top_k)) {
  for (float& weight : weights) weight = 0.5f + 0.25f * weight;
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t k = 0; k < top_k; ++k) {
      const bool nobody = row % 3 == 2 && k == 1;
      ids.push_back(nobody ? kNoExpert
                           : static_cast<int32_t>((row + 2 * k + 1) % layer.spec.experts));
    }
  }
}

DecodedUnit::DecodedUnit(const ExpertSpec& spec, const std::byte* unit)
    : gate(DecodeMatrix(spec.gate, unit)),
      up(DecodeMatrix(spec.up, unit)),
      down(DecodeMatrix(spec.down, unit)) {}

std::vector<double> ReferenceExpert(const ExpertSpec& spec, const DecodedUnit& unit,
                                    uint32_t expert, std::span<const float> x, double weight) {
  std::vector<double> input(x.begin(), x.end());
  if (spec.conventions.weights_before) {
    for (double& value : input) value *= weight;
  }
  std::vector<double> up = MatVec(unit.up, input);
  ApplySiblings(spec.up_sibling, expert, up);
  std::vector<double> gate(up.size());
  if (spec.conventions.has_gate()) {
    gate = MatVec(unit.gate, input);
    ApplySiblings(spec.gate_sibling, expert, gate);
  }
  std::vector<double> inner(up.size());
  for (size_t i = 0; i < up.size(); ++i) {
    inner[i] = ReferenceActivation(spec.conventions, gate[i], up[i]);
  }
  std::vector<double> y = MatVec(unit.down, inner);
  ApplySiblings(spec.down_sibling, expert, y);
  return y;
}

Grouping GroupBackwards(std::span<const int32_t> ids, const Layer& layer) {
  Grouping grouping;
  for (uint32_t expert = layer.spec.experts; expert-- > 0;) {
    WaveUnit unit;
    unit.unit = expert;
    unit.expert = expert;
    unit.first_pair = static_cast<uint32_t>(grouping.pairs.size());
    for (size_t pair = ids.size(); pair-- > 0;) {
      if (ids[pair] == static_cast<int32_t>(expert)) {
        grouping.pairs.push_back(static_cast<uint32_t>(pair));
      }
    }
    unit.pair_count = static_cast<uint32_t>(grouping.pairs.size()) - unit.first_pair;
    if (unit.pair_count == 0) continue;
    grouping.units.push_back(unit);
    grouping.addresses.push_back(layer.units[expert].data());
  }
  return grouping;
}

}  // namespace berth::kernels::testing
