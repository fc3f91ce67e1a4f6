// A first-in-first-out queue in one block of memory, which grows only while it is warming up.
#ifndef BERTH_RUNTIME_SIMULATE_RING_QUEUE_H_
#define BERTH_RUNTIME_SIMULATE_RING_QUEUE_H_

#include <cstddef>
#include <vector>

namespace berth {

template <typename T>
class RingQueue {
 public:
  bool empty() const { return first_ == end_; }
  size_t size() const { return end_ - first_; }
  T& front() { return at(first_); }
  void Push(const T& value) {
    if (size() == items_.size()) Grow();
    at(end_++) = value;
  }
  T Pop() { return at(first_++); }

 private:
  T& at(size_t i) { return items_[i & (items_.size() - 1)]; }
  void Grow() {
    std::vector<T> larger(items_.size() * 2);
    const size_t count = size();
    for (size_t i = 0; i < count; ++i) larger[i] = at(first_ + i);
    items_.swap(larger);
    first_ = 0;
    end_ = count;
  }

  std::vector<T> items_ = std::vector<T>(64);
  size_t first_ = 0, end_ = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_RING_QUEUE_H_
