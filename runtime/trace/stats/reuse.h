// Reuse distances: how many distinct keys came between two uses of one key.
#ifndef BERTH_RUNTIME_TRACE_STATS_REUSE_H_
#define BERTH_RUNTIME_TRACE_STATS_REUSE_H_

#include <cstdint>
#include <optional>

#include "runtime/trace/stats/lru_stack.h"

namespace berth::trace {

class ReuseDistances {
 public:
  explicit ReuseDistances(uint32_t keys) : stack_(keys, keys) {}
  // Distinct keys used since the last use of this one, itself not counted; none at its first use.
  std::optional<uint32_t> Use(uint32_t key) {
    const uint32_t depth = stack_.Depth(key);
    stack_.Use(key);
    return depth > 0 ? std::optional(depth - 1) : std::nullopt;
  }

 private:
  LruStack stack_;
};

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_STATS_REUSE_H_
