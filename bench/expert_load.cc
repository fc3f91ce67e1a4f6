#include "bench/expert_load.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::bench {

using kernels::ExpertSpec;
using kernels::FindFormat;
using kernels::Format;
using kernels::MatrixSpec;

namespace {

constexpr uint64_t kTensorAlign = 256;  // as units lie in a tier
constexpr uint32_t kStock = 8;          // units that are generated; the others are copies of them

Status CheckShape(const TypePair& pair, const ExpertShape& shape) {
  BERTH_RETURN_IF_ERROR(RowBytes(*pair.gate_up, shape.hidden).status());
  return RowBytes(*pair.down, shape.ffn).status();
}

MatrixSpec MakeMatrix(const Format& format, uint32_t rows, uint32_t cols, uint64_t offset) {
  MatrixSpec matrix;
  matrix.type = format.type;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.row_bytes = uint64_t{cols} / format.block_elements * format.block_bytes;
  matrix.offset = offset;
  return matrix;
}

uint64_t Bytes(const MatrixSpec& matrix) { return matrix.rows * matrix.row_bytes; }

void Generate(const MatrixSpec& matrix, uint64_t seed, std::byte* unit) {
  const Format& format = *FindFormat(matrix.type);
  format.generate(seed, 0, Bytes(matrix) / format.block_bytes, unit + matrix.offset);
}

}  // namespace

std::string TypePair::Name() const {
  std::string name = std::string(gate_up->name) + "+" + std::string(down->name);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Result<TypePair> ParseTypePair(std::string_view text, const ExpertShape& shape) {
  const size_t plus = text.find('+');
  if (plus == text.npos) {
    return InvalidArgumentError("'" + std::string(text) +
                                "' is no pair of types: write GATE_UP+DOWN, IQ3_S+IQ4_NL say");
  }
  TypePair pair;
  BERTH_ASSIGN_OR_RETURN(pair.gate_up, FindFormat(text.substr(0, plus)));
  BERTH_ASSIGN_OR_RETURN(pair.down, FindFormat(text.substr(plus + 1)));
  BERTH_RETURN_IF_ERROR(CheckShape(pair, shape));
  return pair;
}

std::vector<TypePair> AllTypePairs(const ExpertShape& shape) {
  std::vector<TypePair> pairs;
  for (const Format& format : kernels::Formats()) {
    TypePair pair{&format, &format};
    if (!CheckShape(pair, shape).ok()) pair.down = FindFormat(TensorType::kIQ4_NL);
    if (CheckShape(pair, shape).ok()) pairs.push_back(pair);
  }
  return pairs;
}

ExpertSpec MakeExpertSpec(const TypePair& pair, const ExpertShape& shape) {
  ExpertSpec spec;
  spec.experts = shape.experts;
  spec.hidden = shape.hidden;
  spec.ffn = shape.ffn;
  spec.gate = MakeMatrix(*pair.gate_up, shape.ffn, shape.hidden, 0);
  const uint64_t up = AlignUp(Bytes(spec.gate), kTensorAlign);
  spec.up = MakeMatrix(*pair.gate_up, shape.ffn, shape.hidden, up);
  const uint64_t down = AlignUp(up + Bytes(spec.up), kTensorAlign);
  spec.down = MakeMatrix(*pair.down, shape.hidden, shape.ffn, down);
  spec.unit_bytes = AlignUp(down + Bytes(spec.down), kTensorAlign);
  return spec;
}

uint64_t WeightBytes(const ExpertSpec& spec) {
  return Bytes(spec.gate) + Bytes(spec.up) + Bytes(spec.down);
}

void GenerateUnit(const ExpertSpec& spec, uint64_t seed, std::byte* unit) {
  Generate(spec.gate, 3 * seed, unit);
  Generate(spec.up, 3 * seed + 1, unit);
  Generate(spec.down, 3 * seed + 2, unit);
}

Result<UnitStore> UnitStore::Create(const TypePair& pair, const ExpertShape& shape,
                                    uint64_t bytes) {
  UnitStore store;
  store.spec_ = MakeExpertSpec(pair, shape);
  const ExpertSpec& spec = store.spec_;
  store.weight_bytes_ = WeightBytes(spec);
  const uint64_t count = std::max<uint64_t>(shape.experts, CeilDiv(bytes, spec.unit_bytes));
  const uint64_t total = count * spec.unit_bytes;
  BERTH_ASSIGN_OR_RETURN(const uint64_t available, arena::AvailableHostBytes());
  if (total > available) {
    return InvalidArgumentError(FormatBytes(total) + " of units do not fit into " +
                                FormatBytes(available) + " of available memory: lower --bytes");
  }
  arena::HostRegionOptions options;
  options.bytes = total;
  options.lock = false;
  options.purpose = "units of a benchmark";
  BERTH_ASSIGN_OR_RETURN(store.region_, arena::HostRegion::Create(options));
  std::byte* const memory = store.region_.data();
  for (uint64_t unit = 0; unit < count; ++unit) {
    std::byte* const to = memory + unit * spec.unit_bytes;
    if (unit < kStock) {
      GenerateUnit(spec, unit, to);
    } else {
      std::memcpy(to, memory + unit % kStock * spec.unit_bytes, spec.unit_bytes);
    }
  }
  store.order_.resize(count);
  std::iota(store.order_.begin(), store.order_.end(), 0u);
  std::shuffle(store.order_.begin(), store.order_.end(), std::mt19937_64(1));
  return store;
}

const std::byte* UnitStore::Next() {
  const std::byte* const unit = region_.data() + order_[next_] * spec_.unit_bytes;
  next_ = next_ + 1 == count() ? 0 : next_ + 1;
  return unit;
}

ExpertStep::ExpertStep(const ExpertShape& shape, uint32_t rows, bool per_unit, uint64_t seed)
    : shape_(shape),
      rows_(rows),
      per_unit_(per_unit),
      random_(seed),
      x_(uint64_t{rows} * shape.hidden),
      partials_(uint64_t{rows} * shape.top_k * shape.hidden),
      experts_(shape.experts),
      pairs_of_(shape.experts) {
  BERTH_CHECK(shape.top_k <= shape.experts);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  for (float& x : x_) x = value(random_);
  std::iota(experts_.begin(), experts_.end(), 0u);
}

void ExpertStep::Route(UnitStore* store) {
  for (std::vector<uint32_t>& pairs : pairs_of_) pairs.clear();
  for (uint32_t row = 0; row < rows_; ++row) {
    for (uint32_t k = 0; k < shape_.top_k; ++k) {
      // The first top_k places of a shuffle: distinct experts, each as likely.
      if (!per_unit_) std::swap(experts_[k], experts_[k + random_() % (shape_.experts - k)]);
      pairs_of_[experts_[k]].push_back(row * shape_.top_k + k);
    }
  }
  units_.clear();
  pairs_.clear();
  addresses_.clear();
  for (uint32_t expert = 0; expert < shape_.experts; ++expert) {
    const std::vector<uint32_t>& pairs = pairs_of_[expert];
    if (pairs.empty()) continue;
    kernels::WaveUnit unit;
    unit.unit = expert;
    unit.expert = expert;
    unit.first_pair = static_cast<uint32_t>(pairs_.size());
    unit.pair_count = static_cast<uint32_t>(pairs.size());
    unit.address = store->Next();
    units_.push_back(unit);
    addresses_.push_back(unit.address);
    pairs_.insert(pairs_.end(), pairs.begin(), pairs.end());
  }
  call_ = {};
  call_.spec = &store->spec();
  call_.units = units_.data();
  call_.unit_count = static_cast<uint32_t>(units_.size());
  call_.pairs = pairs_.data();
  call_.top_k = shape_.top_k;
  call_.x = x_.data();
  call_.partials = partials_.data();
}

void ExpertStep::Poison() {
  std::fill(partials_.begin(), partials_.end(), std::numeric_limits<float>::quiet_NaN());
}

bool ExpertStep::Computed() const {
  const auto finite = [](float value) { return std::isfinite(value); };
  const auto nonzero = [](float value) { return value != 0; };
  return std::all_of(partials_.begin(), partials_.end(), finite) &&
         std::any_of(partials_.begin(), partials_.end(), nonzero);
}

}  // namespace berth::bench
