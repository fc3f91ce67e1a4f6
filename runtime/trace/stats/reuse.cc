#include "runtime/trace/stats/reuse.h"

#include <algorithm>

namespace berth::trace {

ReuseDistances::ReuseDistances(uint32_t keys)
    : tree_(2 * size_t{keys} + 1), last_use_(keys, kNever) {}

void ReuseDistances::Set(uint32_t time, int32_t by) {
  for (size_t i = size_t{time} + 1; i < tree_.size(); i += i & -i) tree_[i] += by;
}

uint32_t ReuseDistances::CountUpTo(uint32_t time) const {
  int32_t count = 0;
  for (size_t i = size_t{time} + 1; i > 0; i -= i & -i) count += tree_[i];
  return static_cast<uint32_t>(count);
}

// The keys in use keep their order and get the first times.
void ReuseDistances::Renumber() {
  std::vector<uint32_t> order;
  order.reserve(used_keys_);
  for (uint32_t key = 0; key < last_use_.size(); ++key) {
    if (last_use_[key] != kNever) order.push_back(key);
  }
  std::sort(order.begin(), order.end(),
            [this](uint32_t a, uint32_t b) { return last_use_[a] < last_use_[b]; });
  std::fill(tree_.begin(), tree_.end(), 0);
  time_ = 0;
  for (const uint32_t key : order) {
    last_use_[key] = time_;
    Set(time_++, 1);
  }
}

std::optional<uint32_t> ReuseDistances::Use(uint32_t key) {
  if (size_t{time_} + 1 == tree_.size()) Renumber();
  std::optional<uint32_t> distance;
  if (last_use_[key] == kNever) {
    ++used_keys_;
  } else {
    distance = used_keys_ - CountUpTo(last_use_[key]);
    Set(last_use_[key], -1);
  }
  last_use_[key] = time_;
  Set(time_++, 1);
  return distance;
}

}  // namespace berth::trace
