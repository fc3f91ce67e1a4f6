// Traces that tests make up: ids in memory, drawn by a seed or written down.
#ifndef BERTH_TESTS_COUNT_GIVEN_TRACE_H_
#define BERTH_TESTS_COUNT_GIVEN_TRACE_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "runtime/trace/trace.h"

namespace berth::testing {

struct Shape {
  uint32_t layers = 1;
  uint32_t experts = 8;
  uint32_t top_k = 1;
};

class GivenTrace final : public TraceFile {
 public:
  // `ids`: [rows][layers][top_k].
  GivenTrace(const Shape& shape, std::vector<int32_t> ids, std::vector<uint32_t> request_rows = {},
             std::vector<uint32_t> pass_rows = {})
      : ids_(std::move(ids)) {
    info_.layers = shape.layers;
    info_.experts = shape.experts;
    info_.top_k = shape.top_k;
    info_.rows = ids_.size() / (size_t{shape.layers} * shape.top_k);
    info_.request_rows = std::move(request_rows);
    if (info_.request_rows.empty()) info_.request_rows = {static_cast<uint32_t>(info_.rows)};
    info_.pass_rows = std::move(pass_rows);
  }

  Result<std::span<const int32_t>> Experts(uint64_t row) override {
    const size_t entries = size_t{info_.layers} * info_.top_k;
    return std::span<const int32_t>(ids_).subspan(row * entries, entries);
  }
  Result<std::span<const float>> Weights(uint64_t) override {
    return FailedPreconditionError("no weights");
  }
  Result<std::span<const int32_t>> Predicted(uint64_t, uint32_t) override {
    return FailedPreconditionError("no predictions");
  }
  uint64_t window_bytes() const override { return 0; }

 private:
  std::vector<int32_t> ids_;
};

// Low experts more often than high ones, some entries that route to nobody, some ids twice in a
// step; requests of 1 to 20 rows.
inline GivenTrace RandomTrace(uint64_t seed, const Shape& shape, uint32_t rows) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> ids(size_t{rows} * shape.layers * shape.top_k);
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random() % (random() % shape.experts + 1));
    if (random() % 16 == 0) id = kNoExpert;
  }
  std::vector<uint32_t> requests;
  for (uint32_t left = rows; left > 0; left -= requests.back()) {
    requests.push_back(std::min<uint32_t>(left, 1 + random() % 20));
  }
  return GivenTrace(shape, std::move(ids), std::move(requests));
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_COUNT_GIVEN_TRACE_H_
