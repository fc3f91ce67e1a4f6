#include "runtime/trace/column.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/base/check.h"

namespace berth::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "traces are read in file order");

template <typename T, typename Out>
void Widen(std::span<const std::byte> bytes, std::span<Out> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<Out>(value);
  }
}

// IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
float HalfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int fraction = half & 0x3ff;
  float magnitude;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

RowWindow::RowWindow(const io::SafetensorsFile* file, const io::SafetensorsTensor* tensor,
                     uint64_t rows, uint64_t row_bytes)
    : file_(file), tensor_(tensor), rows_(rows), row_bytes_(row_bytes) {
  BERTH_CHECK(row_bytes > 0 && rows > 0 && tensor->bytes / row_bytes == rows);
  buffer_.resize(std::clamp<uint64_t>(kWindowBytes / row_bytes, 1, rows) * row_bytes);
}

Result<std::span<const std::byte>> RowWindow::Row(uint64_t row) {
  if (row >= rows_) {
    return OutOfRangeError(file_->name() + ": row " + std::to_string(row) + " of " +
                           std::to_string(rows_));
  }
  if (row < first_row_ || row - first_row_ >= held_rows_) {
    held_rows_ = 0;
    const uint64_t take = std::min(buffer_.size() / row_bytes_, rows_ - row);
    BERTH_RETURN_IF_ERROR(
        file_->Read(*tensor_, row * row_bytes_, std::span(buffer_).first(take * row_bytes_)));
    first_row_ = row;
    held_rows_ = take;
  }
  return std::span<const std::byte>(buffer_).subspan((row - first_row_) * row_bytes_, row_bytes_);
}

bool IsIdType(io::SafetensorsType type) {
  using Type = io::SafetensorsType;
  return type == Type::kU8 || type == Type::kU16 || type == Type::kI16 || type == Type::kI32;
}

bool IsWeightType(io::SafetensorsType type) {
  return type == io::SafetensorsType::kF16 || type == io::SafetensorsType::kF32;
}

void WidenIds(io::SafetensorsType type, std::span<const std::byte> bytes, std::span<int32_t> ids) {
  switch (type) {
    case io::SafetensorsType::kU8:
      return Widen<uint8_t>(bytes, ids);
    case io::SafetensorsType::kU16:
      return Widen<uint16_t>(bytes, ids);
    case io::SafetensorsType::kI16:
      return Widen<int16_t>(bytes, ids);
    case io::SafetensorsType::kI32:
      return Widen<int32_t>(bytes, ids);
    default:
      BERTH_CHECK_MSG(false, "not a type of ids");
  }
}

void WidenWeights(io::SafetensorsType type, std::span<const std::byte> bytes,
                  std::span<float> weights) {
  if (type == io::SafetensorsType::kF32) return Widen<float>(bytes, weights);
  BERTH_CHECK(type == io::SafetensorsType::kF16);
  for (size_t i = 0; i < weights.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes.data() + 2 * i, 2);
    weights[i] = HalfToFloat(half);
  }
}

}  // namespace berth::trace
