// What streams of every backend make of a call's arguments before they queue it. `where` puts the
// stream's name in front of a message: where(text); it is called for refusals alone, because names
// are strings and streams do not allocate once warm.
#ifndef BERTH_KERNELS_STREAM_ENTRY_H_
#define BERTH_KERNELS_STREAM_ENTRY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/device.h"

namespace berth::kernels {

struct TableUpdate {
  uint32_t count = 0;
  std::array<TableEntry, kMaxTableEntries> entries;
};
template <typename Where>
Result<TableUpdate> TakeTableUpdate(std::span<const TableEntry> entries, const Where& where) {
  if (entries.size() > kMaxTableEntries) {
    return InvalidArgumentError(where("an update of " + std::to_string(entries.size()) +
                                      " table entries; at most " +
                                      std::to_string(kMaxTableEntries)));
  }
  TableUpdate update;
  update.count = static_cast<uint32_t>(entries.size());
  std::copy(entries.begin(), entries.end(), update.entries.begin());
  return update;
}

template <typename Where>
Status CheckSegmentCount(std::span<const CopySegment> segments, const Where& where) {
  if (segments.size() <= kMaxCopySegments) return Status();
  return InvalidArgumentError(where("a copy of " + std::to_string(segments.size()) +
                                    " segments; at most " + std::to_string(kMaxCopySegments)));
}
// Of a segment whose card side is not the card's memory.
template <typename Where>
Status NotOnCard(CopyDirection direction, const Where& where) {
  return InvalidArgumentError(where(direction == CopyDirection::kToCard
                                        ? "a copy to the card ends outside its memory"
                                        : "a copy to the host begins outside the card"));
}

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_STREAM_ENTRY_H_
