#include "tests/kernels/fixture_layer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/base/math.h"

namespace berth::kernels::testing {

using berth::testing::GgufFixture;
using berth::testing::GgufTensor;
using berth::testing::SafetensorsFixture;

namespace {

// One tensor of all experts, and where its matrices lie in a unit.
struct Part {
  const GgufTensor* tensor;
  uint64_t stride;  // bytes of one expert
  uint64_t offset;
};

// Blocks of a matrix, drawn from the golden ones, and their values.
std::vector<float> DrawBlocks(const Format& format, const std::vector<std::byte>& blocks,
                              const std::vector<float>& values, const MatrixSpec& matrix,
                              std::mt19937_64* random, std::byte* unit) {
  const uint64_t have = blocks.size() / format.block_bytes;
  const uint64_t count = uint64_t{matrix.rows} * matrix.cols / format.block_elements;
  std::vector<float> weights(count * format.block_elements);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t block = (*random)() % have;
    std::memcpy(unit + matrix.offset + i * format.block_bytes, &blocks[block * format.block_bytes],
                format.block_bytes);
    std::copy_n(&values[block * format.block_elements], format.block_elements,
                &weights[i * format.block_elements]);
  }
  return weights;
}

}  // namespace

void FixtureModel::Load(const std::string& path) {
  shards_.push_back(std::make_unique<GgufFixture>(path));
}

const GgufTensor* FixtureModel::Find(const std::string& name) const {
  for (const auto& shard : shards_) {
    const auto found = shard->tensors().find(name);
    if (found != shard->tensors().end()) return &found->second;
  }
  return nullptr;
}

Layer FixtureModel::LoadLayer(uint32_t block, const ExpertConventions& conventions) const {
  Layer layer(LayerOptions{.experts = 0, .hidden = 32, .ffn = 32});
  ExpertSpec& spec = layer.spec;
  spec.conventions = conventions;
  spec.unit_bytes = 0;
  const std::string prefix = "blk." + std::to_string(block) + ".ffn_";
  std::vector<Part> parts;
  const auto add = [&](const std::string& name) -> MatrixSpec {
    const GgufTensor* tensor = Find(prefix + name + "_exps.weight");
    if (tensor == nullptr) return {};
    const auto cols = static_cast<uint32_t>(tensor->shape[0]);
    const auto rows = static_cast<uint32_t>(tensor->shape[1]);
    spec.experts = static_cast<uint32_t>(tensor->shape[2]);
    MatrixSpec matrix{tensor->type, rows, cols, *RowBytes(*FindFormat(tensor->type), cols),
                      AlignUp(spec.unit_bytes, kCardAlign)};
    parts.push_back({tensor, matrix.row_bytes * rows, matrix.offset});
    spec.unit_bytes = matrix.offset + matrix.row_bytes * rows;
    return matrix;
  };
  const auto bias = [&](const std::string& name) -> std::vector<float> {
    const GgufTensor* tensor = Find(prefix + name + "_exps.bias");
    if (tensor == nullptr) return {};
    std::vector<float> values(tensor->shape[0] * tensor->shape[1]);
    std::memcpy(values.data(), tensor->data, values.size() * sizeof(float));
    return values;
  };
  MatrixSpec fused = add("gate_up");
  if (fused.rows > 0) {
    fused.rows /= 2;
    spec.gate = spec.up = fused;
    MatrixSpec& second = conventions.gate_first ? spec.up : spec.gate;
    second.offset += fused.rows * fused.row_bytes;
  } else {
    spec.gate = add("gate");
    spec.up = add("up");
  }
  spec.down = add("down");
  spec.hidden = spec.up.cols;
  spec.ffn = spec.up.rows;
  spec.gate_sibling.bias = bias("gate");
  spec.up_sibling.bias = bias("up");
  spec.down_sibling.bias = bias("down");
  for (uint32_t expert = 0; expert < spec.experts; ++expert) {
    std::vector<std::byte> unit(spec.unit_bytes);
    for (const Part& part : parts) {
      std::memcpy(unit.data() + part.offset, part.tensor->data + expert * part.stride, part.stride);
    }
    layer.units.push_back(std::move(unit));
  }
  return layer;
}

GoldenLayer::GoldenLayer(const SafetensorsFixture& golden, const Format& format, uint32_t experts,
                         uint32_t hidden, uint32_t ffn)
    : layer({.gate_up_type = format.type,
             .down_type = format.type,
             .experts = experts,
             .hidden = hidden,
             .ffn = ffn}) {
  const std::string name(format.name);
  const auto blocks = golden.Get<std::byte>(name + ".blocks");
  const auto values = golden.Get<float>(name + ".values");
  std::mt19937_64 random(static_cast<uint64_t>(format.type) + 1);
  for (std::vector<std::byte>& unit : layer.units) {
    const auto draw = [&](const MatrixSpec& matrix) {
      return DrawBlocks(format, blocks, values, matrix, &random, unit.data());
    };
    DecodedUnit decoded;
    decoded.gate = draw(layer.spec.gate);
    decoded.up = draw(layer.spec.up);
    decoded.down = draw(layer.spec.down);
    units.push_back(std::move(decoded));
  }
}

void DoubleComparison::Add(double got, double want) {
  const double error = std::abs(got - want);
  errors_ += error * error;
  squares_ += want * want;
  worst_ = error <= worst_ ? worst_ : error;  // keeps what is no number
  largest_ = std::max(largest_, std::abs(want));
}

DoubleError DoubleComparison::error() const {
  return {std::sqrt(errors_ / squares_), worst_ / largest_};
}

}  // namespace berth::kernels::testing
