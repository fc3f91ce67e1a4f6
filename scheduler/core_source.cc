// Core: where a unit's bytes come from.
#include "runtime/base/guards.h"
#include "scheduler/core.h"
#include "scheduler/place.h"

namespace berth::scheduler {

HostSlot Core::Source(UnitIndex unit, bool to_arena, Why why) {
  const uint32_t index = host_ == nullptr ? kNone : host_->Find(unit);
  if (index != kNone) {
    const Slot& slot = host_->slot(index);
    const bool late = graph_.alive(slot.load);
    CountLookup(why, true, late);
    if (late && why != Why::kHint) Promote(slot.load);
    return HostPlace(index);
  }
  CountLookup(why, false, false);
  HostSlot to;
  // Exclusive: what goes into the arena does not stay in RAM as well.
  if (host_ != nullptr && !(options_.host_exclusive && to_arena)) to = TakeHost(unit);
  if (to.slot == kNoSlot) {
    to = TakeStaging(why);
    if (why == Why::kStep) ++counters_.host.staged;
  }
  AddRead(unit, to, why);
  return to;
}

void Core::CountLookup(Why why, bool hit, bool late) {
  HostCounters& count = counters_.host;
  switch (why) {
    case Why::kBehind:  // its step has looked it up
      break;
    case Why::kStep:
      ++count.requests;
      ++(hit ? count.hits : count.misses);
      if (late) ++count.hits_late;
      break;
    case Why::kHint:
      ++(hit ? count.prefetch_hits : count.prefetch_misses);
      break;
    case Why::kLease:
      ++(hit ? count.lease_hits : count.lease_misses);
      break;
    case Why::kWarm:
      ++(hit ? count.warm_hits : count.warm_misses);
      break;
  }
}

HostSlot Core::TakeHost(UnitIndex unit) {
  UnitIndex victim = kNoUnit;
  const uint32_t index = host_->Take(unit, stamps_, stamp_, &victim);
  if (index == kNone) return HostSlot{};
  ++counters_.host.inserted;
  if (victim != kNoUnit) {
    ++counters_.host.evicted;
    Decided(victim, Place(HostPlace(index)));
  }
  return HostPlace(index);
}

HostSlot Core::TakeStaging(Why why) {
  HostSlot to;
  to.staging = true;
  if (why == Why::kHint) {
    to.slot = options_.staging_slots + prefetch_staging_next_;
    prefetch_staging_next_ = (prefetch_staging_next_ + 1) % options_.prefetch_staging_slots;
  } else {
    if (BERTH_BROKEN(kIgnoreCompletionOrder) &&
        graph_.alive(staging_[staging_next_].sync.last_write)) {
      staging_next_ = (staging_next_ + 1) % options_.staging_slots;
    }
    to.slot = staging_next_;
    staging_next_ = (staging_next_ + 1) % options_.staging_slots;
  }
  ++staging_[to.slot].generation;
  return to;
}

void Core::AddRead(UnitIndex unit, const HostSlot& to, Why why) {
  const bool prefetch = why == Why::kHint;
  Slot& slot = HostSlotOf(to);
  const uint32_t index = graph_.Add(OpKind::kRead);
  Op& op = graph_.op(index);
  op.unit = unit;
  op.host = to;
  op.prefetch = prefetch;
  op.slot_generation = slot.generation;
  op.extents_left = geometry_.extents(unit);
  op.source = slot.reader;
  if (!prefetch) Promote(slot.reader);
  graph_.BecomeWriter(index, &slot.sync);
  slot.load = graph_.ref(index);
  StorageCounters& count = counters_.storage;
  const bool warm = why == Why::kWarm;
  ++(prefetch ? count.units_prefetch : warm ? count.units_warm : count.units_demand);
  const uint64_t payload = geometry_.payload_bytes(unit);
  (prefetch ? count.bytes_prefetch : warm ? count.bytes_warm : count.bytes_demand) += payload;
  count.bytes_alignment += geometry_.read_bytes(unit) - payload;
  graph_.Release(index);
}

}  // namespace berth::scheduler
