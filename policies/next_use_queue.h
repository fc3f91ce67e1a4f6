// NextUseQueue: units by the step that uses them next, the last one first.
//
// Steps to come are places on a ring of bits that starts at the latest use known; each place has
// the list of the units that are used there. A hierarchy of 64-bit words says which places are
// taken, so the last one is found in a few instructions. A use that lies beyond the ring goes into
// a heap, in which entries of units that have left stay until they come to the top or are half of
// it. Units that are never used again have a list of their own.
//
// Add, Remove and Last are O(1) but for the heap's O(log units), which only uses beyond the ring
// pay: at 64 places a unit they are rare. All memory is taken in the constructor.
#ifndef BERTH_POLICIES_NEXT_USE_QUEUE_H_
#define BERTH_POLICIES_NEXT_USE_QUEUE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "policies/policy.h"

namespace berth::policies {

class NextUseQueue {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Local numbers 0 to units - 1.
  explicit NextUseQueue(uint32_t units)
      : places_(PlacesFor(units)),
        first_(size_t{places_} + 1, kNone),
        taken_(places_ / 64),
        taken_words_(std::max<uint32_t>(1, places_ / 64 / 64)),
        nodes_(units) {
    far_.reserve(size_t{2} * units + kSpareFar);
  }

  // What Add was given, or set_next_use, which serves units that are not in the queue.
  uint64_t next_use(uint32_t unit) const { return nodes_[unit].next_use; }
  void set_next_use(uint32_t unit, uint64_t next_use) { nodes_[unit].next_use = next_use; }

  // `unit` is not in the queue.
  void Add(uint32_t unit, uint64_t next_use) {
    Node& node = nodes_[unit];
    node.next_use = next_use;
    if (next_use != kNeverUsed && next_use - ring_start_ >= places_) return AddFar(unit);
    const uint32_t place = PlaceOf(next_use);
    node.before = kNone;
    node.after = first_[place];
    first_[place] = unit;
    if (node.after != kNone) {
      nodes_[node.after].before = unit;
    } else if (place != places_) {
      taken_[place / 64] |= Bit(place);
      taken_words_[place / 4096] |= Bit(place / 64);
      taken_pages_ |= Bit(place / 4096);
    }
  }

  void Remove(uint32_t unit) {
    Node& node = nodes_[unit];
    if (node.before == kInFar) {
      node.before = kNone;
      --far_units_;
      return;
    }
    if (node.after != kNone) nodes_[node.after].before = node.before;
    if (node.before != kNone) {
      nodes_[node.before].after = node.after;
      return;
    }
    const uint32_t place = PlaceOf(node.next_use);
    first_[place] = node.after;
    if (node.after != kNone || place == places_) return;
    if ((taken_[place / 64] &= ~Bit(place)) != 0) return;
    if ((taken_words_[place / 4096] &= ~Bit(place / 64)) != 0) return;
    taken_pages_ &= ~Bit(place / 4096);
  }

  // The unit that is used again last; kNone if the queue is empty.
  uint32_t Last() {
    if (first_[places_] != kNone) return first_[places_];
    const uint32_t near = taken_pages_ == 0 ? kNone : first_[LastPlace()];
    if (far_units_ == 0) return near;
    DropOldFar();
    const uint32_t far = far_.front().unit;
    return near == kNone || nodes_[far].next_use > nodes_[near].next_use ? far : near;
  }

  // Step `now` has come: what is in the queue is used then or later.
  void Advance(uint64_t now) { ring_start_ = std::max(ring_start_, now); }

 private:
  static constexpr uint32_t kInFar = UINT32_MAX - 1;
  static constexpr size_t kSpareFar = 64;
  struct Node {
    uint64_t next_use = kNeverUsed;
    uint32_t before = kNone;  // in the list of its place; kInFar
    uint32_t after = kNone;
  };
  struct Far {
    uint64_t next_use;
    uint32_t unit;
    bool operator<(const Far& other) const {
      return next_use != other.next_use ? next_use < other.next_use : unit < other.unit;
    }
  };

  // A power of two from 4,096 to what three levels of words can tell.
  static uint32_t PlacesFor(uint32_t units) {
    return static_cast<uint32_t>(
        std::clamp<uint64_t>(std::bit_ceil(uint64_t{64} * units), 1u << 12, 1u << 18));
  }
  static uint64_t Bit(uint32_t at) { return uint64_t{1} << (at & 63); }
  static uint64_t BitsBelow(uint32_t at) { return Bit(at) - 1; }
  static uint32_t Highest(uint64_t word) {
    return 63 - static_cast<uint32_t>(std::countl_zero(word));
  }
  // The place behind the ring is that of units that are never used again.
  uint32_t PlaceOf(uint64_t next_use) const {
    return next_use == kNeverUsed ? places_ : static_cast<uint32_t>(next_use) & (places_ - 1);
  }

  // The last taken place of the ring, of which one is taken: below its start, else the highest.
  uint32_t LastPlace() const {
    const uint32_t start = static_cast<uint32_t>(ring_start_) & (places_ - 1);
    uint32_t word = start / 64;
    if (const uint64_t bits = taken_[word] & BitsBelow(start); bits != 0) {
      return word * 64 + Highest(bits);
    }
    uint32_t page = word / 64;
    uint64_t words = taken_words_[page] & BitsBelow(word);
    if (words == 0) {
      const uint64_t pages = taken_pages_ & BitsBelow(page);
      page = Highest(pages != 0 ? pages : taken_pages_);
      words = taken_words_[page];
    }
    word = page * 64 + Highest(words);
    return word * 64 + Highest(taken_[word]);
  }

  void AddFar(uint32_t unit) {
    if (far_.size() >= size_t{2} * far_units_ + kSpareFar) SweepFar();
    nodes_[unit].before = kInFar;
    ++far_units_;
    far_.push_back({nodes_[unit].next_use, unit});
    std::push_heap(far_.begin(), far_.end());
  }
  bool IsOld(const Far& entry) const {
    const Node& node = nodes_[entry.unit];
    return node.before != kInFar || node.next_use != entry.next_use;
  }
  void DropOldFar() {
    while (IsOld(far_.front())) {
      std::pop_heap(far_.begin(), far_.end());
      far_.pop_back();
    }
  }
  // In order, so that equal entries of a unit that came back stand side by side.
  void SweepFar() {
    std::erase_if(far_, [this](const Far& entry) { return IsOld(entry); });
    std::sort(far_.begin(), far_.end());
    const auto equal = [](const Far& a, const Far& b) {
      return a.next_use == b.next_use && a.unit == b.unit;
    };
    far_.erase(std::unique(far_.begin(), far_.end(), equal), far_.end());
    std::make_heap(far_.begin(), far_.end());
  }

  uint32_t places_;
  uint64_t ring_start_ = 0;
  std::vector<uint32_t> first_;        // unit of each place's list, and of those never used again
  std::vector<uint64_t> taken_;        // places
  std::vector<uint64_t> taken_words_;  // words of taken_ that are not 0
  uint64_t taken_pages_ = 0;           // the same of taken_words_
  std::vector<Node> nodes_;            // by unit
  std::vector<Far> far_;               // a heap, the last use on top
  uint32_t far_units_ = 0;             // entries that are not old
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_NEXT_USE_QUEUE_H_
