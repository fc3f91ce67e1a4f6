// Reuse distances: how many distinct keys came between two uses of one key.
#ifndef BERTH_RUNTIME_TRACE_STATS_REUSE_H_
#define BERTH_RUNTIME_TRACE_STATS_REUSE_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace berth::trace {

// The times of last uses stand in a Fenwick tree, as ones; a distance is the ones behind a time.
// Times are numbered anew when the tree is full, so that it is only twice as large as the keys are
// many. O(log keys) a use.
class ReuseDistances {
 public:
  explicit ReuseDistances(uint32_t keys);
  // Distinct keys used since the last use of this one, itself not counted; none at its first use.
  std::optional<uint32_t> Use(uint32_t key);

 private:
  static constexpr uint32_t kNever = UINT32_MAX;
  void Set(uint32_t time, int32_t by);
  uint32_t CountUpTo(uint32_t time) const;  // ones at times [0, time]
  void Renumber();

  std::vector<int32_t> tree_;
  std::vector<uint32_t> last_use_;  // of each key
  uint32_t time_ = 0;
  uint32_t used_keys_ = 0;
};

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_STATS_REUSE_H_
