// CardLedger: what of a card's memory is given out: a budget, and the blocks charged to it. Where
// memory comes from is the backend's business.
#ifndef BERTH_KERNELS_CARD_LEDGER_H_
#define BERTH_KERNELS_CARD_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "runtime/base/mutex.h"

namespace berth::kernels {

// Thread-safe. Must outlive every block on it.
//
//   Charge -> Add -> Remove          or, where no memory came of it, Charge -> Refund
class CardLedger {
 public:
  CardLedger(std::string card, uint64_t budget_bytes)
      : card_(std::move(card)), budget_bytes_(budget_bytes) {}
  ~CardLedger();

  uint64_t free_bytes() const BERTH_EXCLUDES(mutex_);
  // "card cuda:0: arena"
  std::string What(std::string_view purpose) const;

  // Takes `bytes`, rounded up to 256, off the budget. InvalidArgument for 0, ResourceExhausted
  // beyond the budget: the message says asked, free and what to lower.
  Status Charge(size_t bytes, std::string_view purpose) BERTH_EXCLUDES(mutex_);
  void Refund(size_t bytes) BERTH_EXCLUDES(mutex_);
  // A block of `bytes` that were charged.
  void Add(const std::byte* begin, size_t bytes) BERTH_EXCLUDES(mutex_);
  void Remove(const std::byte* begin, size_t bytes) BERTH_EXCLUDES(mutex_);
  // Whether [begin, begin + bytes) lies in one block.
  bool Contains(const void* begin, size_t bytes) const BERTH_EXCLUDES(mutex_);

 private:
  struct Range {
    const std::byte* begin;
    size_t bytes;
  };

  const std::string card_;
  const uint64_t budget_bytes_;
  mutable Mutex mutex_;
  uint64_t used_bytes_ BERTH_GUARDED_BY(mutex_) = 0;
  std::vector<Range> ranges_ BERTH_GUARDED_BY(mutex_);  // by address
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_CARD_LEDGER_H_
