// A slot as a number, for the digest of decisions.
#ifndef BERTH_SCHEDULER_PLACE_H_
#define BERTH_SCHEDULER_PLACE_H_

#include <cstdint>

#include "scheduler/actions.h"

namespace berth::scheduler {

inline uint64_t Place(const CardSlot& s) {
  return (static_cast<uint64_t>(s.card) << 48) | (static_cast<uint64_t>(s.ring) << 47) |
         (static_cast<uint64_t>(s.size_class) << 32) | s.slot;
}
inline uint64_t Place(const HostSlot& s) {
  return (static_cast<uint64_t>(s.staging) << 47) | (static_cast<uint64_t>(s.size_class) << 32) |
         s.slot;
}

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_PLACE_H_
