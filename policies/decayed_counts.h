// DecayedCounts: how often each unit was touched, where a touch of n passes ago counts decay^n.
//
// Counts are kept for every unit of the range, resident or not, so they survive eviction. Instead
// of shrinking all counts each pass, the weight of a touch grows by 1 / decay per pass: the order
// between units does not change with time alone. When the weight passes 2^512, all counts and the
// weight are multiplied by 2^-512, which is exact; a count that would leave the normal doubles
// becomes 0 (it is below 2^-510 touches of today). Additions, multiplications and one division
// only, so the counts have the same bits on every machine.
#ifndef BERTH_POLICIES_DECAYED_COUNTS_H_
#define BERTH_POLICIES_DECAYED_COUNTS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace berth::policies {

class DecayedCounts {
 public:
  // What a spec may ask for. Below 0.01 a count is the last touch and little else.
  static constexpr double kMinDecay = 0.01;
  static constexpr double kMaxDecay = 1.0;
  static constexpr double kDefaultDecay = 0.98;

  // `start`: empty, or one count per unit (0 to 1e18), in touches as of the first pass.
  DecayedCounts(uint32_t units, double decay, std::span<const double> start);

  // O(1), but O(units) where it rescales: once in about 17,570 passes at the default decay. True
  // after it rescaled: counts that became 0 are ties now, so whatever is sorted by Colder is sorted
  // again.
  bool AdvanceTo(uint64_t pass);
  void Touch(uint32_t unit) {
    Entry& entry = entries_[unit];
    entry.count += weight_;
    entry.last_touch = ++touches_;
  }

  // No touch that still counts, and no starting count.
  bool IsZero(uint32_t unit) const { return entries_[unit].count == 0; }
  // All counts in touches as of the pass at hand; what `start` takes.
  void Read(std::span<double> counts) const;
  // A strict total order: the lower count first, then the one whose last touch is longer ago, then
  // the lower index.
  bool Colder(uint32_t a, uint32_t b) const {
    const Entry& x = entries_[a];
    const Entry& y = entries_[b];
    if (x.count != y.count) return x.count < y.count;
    if (x.last_touch != y.last_touch) return x.last_touch < y.last_touch;
    return a < b;
  }

 private:
  struct Entry {
    double count = 0;         // in units of a touch made at weight 1
    uint64_t last_touch = 0;  // number of the touch, from 1; 0: never
  };

  // False if all counts are 0 afterwards.
  bool Rescale();

  std::vector<Entry> entries_;
  double growth_;          // 1 / decay
  uint64_t longest_leap_;  // passes by which the weight may grow at once without overflow
  double weight_ = 1;      // of a touch made now
  uint64_t pass_ = 0;
  bool started_ = false;
  uint64_t touches_ = 0;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_DECAYED_COUNTS_H_
