#include "kernels/card_ledger.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::kernels {

CardLedger::~CardLedger() {
  MutexLock lock(&mutex_);
  BERTH_CHECK_MSG(ranges_.empty(), "card memory outlives its device");
}

uint64_t CardLedger::free_bytes() const {
  MutexLock lock(&mutex_);
  return budget_bytes_ - used_bytes_;
}

std::string CardLedger::What(std::string_view purpose) const {
  return "card " + card_ + ": " + std::string(purpose);
}

Status CardLedger::Charge(size_t bytes, std::string_view purpose) {
  if (bytes == 0) return InvalidArgumentError(What(purpose) + ": asked for 0 bytes");
  uint64_t free = 0;
  {
    MutexLock lock(&mutex_);
    free = budget_bytes_ - used_bytes_;
    // Rounded up first, a size near the largest number would become a small one.
    if (bytes <= free && AlignUp(bytes, kCardAlign) <= free) {
      used_bytes_ += AlignUp(bytes, kCardAlign);
      return Status();
    }
  }
  return ResourceExhaustedError(What(purpose) + ": asked " + FormatBytes(bytes) + ", free " +
                                FormatBytes(free) + " of " + FormatBytes(budget_bytes_) +
                                ": lower --arena or --ring, or give the card more memory");
}

void CardLedger::Refund(size_t bytes) {
  MutexLock lock(&mutex_);
  used_bytes_ -= AlignUp(bytes, kCardAlign);
}

void CardLedger::Add(const std::byte* begin, size_t bytes) {
  MutexLock lock(&mutex_);
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](const Range& a, const std::byte* b) { return a.begin < b; });
  ranges_.insert(at, {begin, bytes});
}

void CardLedger::Remove(const std::byte* begin, size_t bytes) {
  MutexLock lock(&mutex_);
  used_bytes_ -= AlignUp(bytes, kCardAlign);
  std::erase_if(ranges_, [&](const Range& range) { return range.begin == begin; });
}

bool CardLedger::Contains(const void* begin, size_t bytes) const {
  const auto* const first = static_cast<const std::byte*>(begin);
  MutexLock lock(&mutex_);
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), first,
                                [](const std::byte* a, const Range& b) { return a < b.begin; });
  if (after == ranges_.begin()) return false;
  const Range& range = *--after;
  const auto offset = static_cast<size_t>(first - range.begin);
  return offset <= range.bytes && bytes <= range.bytes - offset;
}

}  // namespace berth::kernels
