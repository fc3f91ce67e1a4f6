// Truth: what bytes are really in every slot of every tier, what every pointer table really says,
// and who reads and writes there. Each action is checked against it as it begins and as it ends,
// and the tables after every event.
#ifndef BERTH_TESTS_SCHEDULER_TRUTH_H_
#define BERTH_TESTS_SCHEDULER_TRUTH_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/core.h"
#include "tests/scheduler/promises.h"

namespace berth::scheduler {

inline bool Same(const CardSlot& a, const CardSlot& b) {
  return a.card == b.card && a.ring == b.ring && a.size_class == b.size_class && a.slot == b.slot;
}

class Truth {
 public:
  // Both must outlive the object. `checksums`: wrong bytes are found before they are copied.
  Truth(const CoreOptions& options, bool checksums, Promises* promises);

  void BeginRead(const ReadAction& action);
  // `whole`: every byte that is needed came. Returns whether the unit is whole now.
  bool EndRead(const ReadAction& action, bool whole, bool flipped);
  // Of a whole unit: one of its bits is wrong.
  bool Flipped(const HostSlot& slot, UnitIndex unit);
  bool Flipped(const CardSlot& slot, UnitIndex unit);

  void BeginCopy(const CopyAction& action);
  void EndCopy(const CopyAction& action, bool landed);

  void BeginUpdate(const PublishAction& action);
  void ApplyUpdate(const PublishAction& action);  // between begin and end, or never
  void EndUpdate(const PublishAction& action, bool ok);

  void BeginWave(const ComputeAction& action);
  void EndWave(const ComputeAction& action);

  // Whatever a table points at is that unit, whole, and nobody writes there.
  void CheckTables();
  // The unit is where the core says it is, and the table says so too.
  void CheckInPlace(UnitIndex unit, const CardSlot& slot, std::string_view what);
  // All is quiet: the tables are what the core decided.
  void CheckTablesAre(const Core& core);

 private:
  struct Slot {
    std::array<UnitIndex, 8> extents;  // whose bytes, kNoUnit: nobody's
    uint8_t flips = 0;                 // extents with a wrong bit
    bool failed = false;
    bool uncertain = false;  // of the arena: a table update of it failed, it is dead
    uint32_t readers = 0;    // waves and copies
    uint32_t computing = 0;  // of these, waves of the host
    uint32_t pieces = 0;     // being written
    uint32_t written = 0;
    uint32_t listed = 0;    // table entries that point here
    uint32_t updating = 0;  // table updates under way
    OpId writer = 0;        // 0: nobody writes
    Slot() { extents.fill(kNoUnit); }
  };
  struct Entry {
    CardSlot slot;           // kNoSlot: nothing
    bool uncertain = false;  // its last update failed
    bool moving = false;     // an update is under way
  };
  struct Flight {  // on a drive or a link
    uint64_t bytes = 0, prefetch_bytes = 0;
    uint32_t pieces = 0, prefetch_pieces = 0;
  };
  struct Bounds {
    uint64_t bytes, prefetch_bytes;
    uint32_t pieces;
  };
  struct CardSlots {
    std::vector<uint32_t> base;  // of each class's slots
    std::vector<Slot> arena, ring;
  };

  Slot& At(const HostSlot& slot);
  Slot& At(const CardSlot& slot);
  bool Holds(const Slot& slot, UnitIndex unit) const;
  void CheckWave(const ComputeAction& action, const char* when);
  void Depart(Flight* flight, uint64_t bytes, bool prefetch, const Bounds& bounds,
              const char* what);
  static void Arrive(Flight* flight, uint64_t bytes, bool prefetch);

  const CoreOptions& options_;
  const Geometry& geometry_;
  const bool checksums_;
  Promises* promises_;
  std::vector<Slot> staging_, host_;
  std::vector<uint32_t> host_base_;
  std::vector<CardSlots> cards_;
  std::vector<Entry> table_;  // per unit: a unit has one card
  std::vector<Flight> drives_, links_;
  Slot nowhere_;  // for places that are not there
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_TRUTH_H_
