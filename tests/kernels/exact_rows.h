// Activation rows in 8 bits for tests of the exact kernels, and numbers to put into them.
#ifndef BERTH_TESTS_KERNELS_EXACT_ROWS_H_
#define BERTH_TESTS_KERNELS_EXACT_ROWS_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/exact/exact_kernels.h"

namespace berth::testing {

enum class Values { kOrdinary, kHostile };

// Hostile: zeros of both signs, denormals, numbers near the largest, whole blocks of one kind.
inline std::vector<float> DrawValues(Values kind, size_t count, std::mt19937& random) {
  std::vector<float> values(count);
  const auto uniform = [&] { return static_cast<float>(random()) * 0x1p-31f - 1.0f; };
  uint32_t mood = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i % 32 == 0) mood = random() % 6;
    float value = uniform();
    if (kind == Values::kHostile) {
      switch (mood) {
        case 0:
          value = random() % 2 == 0 ? 0.0f : -0.0f;
          break;
        case 1:
          value *= std::numeric_limits<float>::denorm_min() * 300;
          break;
        case 2:
          value *= std::numeric_limits<float>::max();
          break;
        case 3:
          value *= std::numeric_limits<float>::min() * 100;
          break;
        case 4:
          value = (static_cast<float>(random() % 255) - 127.0f) * 0.5f;  // ties
          break;
        default:
          break;
      }
    }
    values[i] = value;
  }
  return values;
}

class QuantizedRows {
 public:
  QuantizedRows(const kernels::ExactKernels& kernels, const std::vector<std::vector<float>>& x)
      : x_(x) {
    for (const std::vector<float>& row : x_) {
      const size_t padded = (row.size() + 255) / 256 * 256;
      store_.push_back(std::make_unique<Store>(padded));
      Store& store = *store_.back();
      finite_ &= kernels.quantize(row.data(), static_cast<uint32_t>(row.size()), store.q.data(),
                                  store.d.data(), store.sums.data(), store.s.data());
      rows_.push_back(
          {row.data(), store.q.data(), store.d.data(), store.sums.data(), store.s.data()});
    }
  }

  bool finite() const { return finite_; }
  const std::vector<kernels::ActivationRow>& rows() const { return rows_; }
  // All bytes of row r in 8 bits.
  bool SameAs(const QuantizedRows& other) const {
    for (size_t r = 0; r < store_.size(); ++r) {
      const Store& a = *store_[r];
      const Store& b = *other.store_[r];
      if (a.q != b.q || a.sums != b.sums ||
          std::memcmp(a.d.data(), b.d.data(), a.d.size() * sizeof(float)) != 0) {
        return false;
      }
      if (std::memcmp(a.s.data(), b.s.data(), a.s.size() * sizeof(float)) != 0) return false;
    }
    return true;
  }

 private:
  struct Store {
    // Poisoned: what a kernel does not write is seen.
    explicit Store(size_t cols)
        : q(cols, 99),
          d(cols / 32, std::numeric_limits<float>::quiet_NaN()),
          sums(cols / 16, 999),
          s(cols / 32, std::numeric_limits<float>::quiet_NaN()) {}
    std::vector<int8_t> q;
    std::vector<float> d;
    std::vector<int16_t> sums;
    std::vector<float> s;
  };

  std::vector<std::vector<float>> x_;
  std::vector<std::unique_ptr<Store>> store_;
  std::vector<kernels::ActivationRow> rows_;
  bool finite_ = true;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_KERNELS_EXACT_ROWS_H_
