#include "arena/arena_plan.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::arena {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{1} << 30;

// The split in work: plans with their minimum, and the weight of each class.
struct Split {
  std::vector<SlotClassPlan> classes;
  std::vector<double> weights;
  bool shares_given = false;
};

Result<Split> Prepare(std::span<const ArenaClass> classes, uint64_t align, uint32_t minimum) {
  if (classes.empty()) return InvalidArgumentError("a tier without size classes");
  Split split;
  uint64_t full = 0;
  uint64_t units = 0;
  const auto with_share = std::count_if(classes.begin(), classes.end(),
                                        [](const ArenaClass& c) { return c.share != 0; });
  split.shares_given = with_share > 0;
  for (const ArenaClass& c : classes) {
    uint64_t bytes = 0;
    if (c.unit_bytes == 0 || c.units == 0) {
      return InvalidArgumentError("a size class without units or bytes");
    }
    units += c.units;
    if (!CheckedAdd(c.unit_bytes, align, &bytes) ||
        !CheckedMul(AlignUp(c.unit_bytes, align), c.units, &bytes) ||
        !CheckedAdd(full, bytes, &full) || units >= kNoSlot) {
      return InvalidArgumentError("size classes of more bytes or units than can be counted");
    }
    if (split.shares_given && !(std::isfinite(c.share) && c.share > 0)) {
      return InvalidArgumentError("shares of size classes: all are above 0 or none is given");
    }
    const double proportion = static_cast<double>(c.unit_bytes) * c.units;
    split.weights.push_back(split.shares_given ? c.share : proportion);
    split.classes.push_back(
        {AlignUp(c.unit_bytes, align), 0, c.units, std::min(minimum, c.units), 0});
  }
  return split;
}

// Slots of a class for a level: bytes per unit of weight, the same for all classes.
uint32_t SlotsAt(const SlotClassPlan& plan, double weight, double level, uint32_t least) {
  const double slots = level * weight / static_cast<double>(plan.slot_bytes);
  return slots >= plan.units ? plan.units : std::max(least, static_cast<uint32_t>(slots));
}

uint64_t BytesAt(const Split& split, double level, bool hold_minimum) {
  uint64_t bytes = 0;
  for (size_t c = 0; c < split.classes.size(); ++c) {
    const SlotClassPlan& plan = split.classes[c];
    const uint32_t least = hold_minimum ? plan.minimum_slots : 0;
    bytes += plan.slot_bytes * SlotsAt(plan, split.weights[c], level, least);
  }
  return bytes;
}

// The level at which every class has `slots_of` slots.
template <typename SlotsOf>
double LevelOf(const Split& split, SlotsOf slots_of) {
  double level = 0;
  for (size_t c = 0; c < split.classes.size(); ++c) {
    const SlotClassPlan& plan = split.classes[c];
    const double bytes = static_cast<double>(plan.slot_bytes) * slots_of(plan);
    level = std::max(level, bytes / split.weights[c]);
  }
  return level * (1 + 1e-12);  // past the rounding of the division
}

// After the level is found less than one slot of each class is left: the class furthest behind its
// part takes the next slot, as long as one fits.
void HandOutRest(const Split& split, double level, uint64_t left,
                 std::vector<SlotClassPlan>* plans) {
  while (true) {
    SlotClassPlan* furthest = nullptr;
    double most_behind = 0;
    for (size_t c = 0; c < plans->size(); ++c) {
      SlotClassPlan& plan = (*plans)[c];
      if (plan.slots == plan.units || plan.slot_bytes > left) continue;
      const double behind = level * split.weights[c] - static_cast<double>(plan.bytes());
      if (furthest == nullptr || behind > most_behind) {
        furthest = &plan;
        most_behind = behind;
      }
    }
    if (furthest == nullptr) return;
    ++furthest->slots;
    left -= furthest->slot_bytes;
  }
}

// The highest level that `bytes` pay for, found by bisection: a class that is full or held at its
// minimum leaves more or less to the others, which no closed form says as plainly. `bytes` must
// pay for the minimum where it is held.
std::vector<SlotClassPlan> Distribute(const Split& split, uint64_t bytes, bool hold_minimum) {
  double low = 0;
  double high = LevelOf(split, [](const SlotClassPlan& plan) { return plan.units; });
  if (BytesAt(split, high, hold_minimum) <= bytes) low = high;
  for (int i = 0; i < 128 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    (BytesAt(split, middle, hold_minimum) <= bytes ? low : high) = middle;
  }
  std::vector<SlotClassPlan> plans = split.classes;
  uint64_t used = 0;
  for (size_t c = 0; c < plans.size(); ++c) {
    const uint32_t least = hold_minimum ? plans[c].minimum_slots : 0;
    plans[c].slots = SlotsAt(plans[c], split.weights[c], low, least);
    used += plans[c].bytes();
  }
  HandOutRest(split, low, bytes - used, &plans);
  return plans;
}

SlotPlan Finish(std::vector<SlotClassPlan> classes, uint64_t bytes, uint64_t minimum_bytes) {
  SlotPlan plan;
  plan.classes = std::move(classes);
  for (SlotClassPlan& c : plan.classes) {
    c.first_slot = plan.slots;
    plan.slots += c.slots;
    plan.used_bytes += c.bytes();
    plan.full_bytes += c.slot_bytes * c.units;
  }
  plan.left_over_bytes = bytes - plan.used_bytes;
  plan.minimum_bytes = minimum_bytes;
  return plan;
}

// With shares given, the level that reaches the minimum of every class decides; without, classes
// are held at their minimum and the rest is split.
uint64_t MinimumBytes(const Split& split) {
  if (!split.shares_given) return BytesAt(split, 0, /*hold_minimum=*/true);
  const double level = LevelOf(split, [](const SlotClassPlan& c) { return c.minimum_slots; });
  return BytesAt(split, level, /*hold_minimum=*/true);
}

// "12400000000 (12.4 GB)": a number to type, and to read.
std::string Exact(uint64_t bytes) {
  return std::to_string(bytes) + " (" + FormatBytes(bytes) + ")";
}

std::string WhatToChange(const ArenaRequest& request, const Split& split, uint64_t minimum_bytes) {
  if (!request.automatic) return ": raise --arena to at least " + Exact(minimum_bytes);
  uint64_t unit = 0;
  for (const SlotClassPlan& c : split.classes) unit = std::max(unit, c.slot_bytes);
  // Fewer than were asked for: those left less than the minimum.
  const uint64_t fit =
      request.memory_bytes > minimum_bytes ? (request.memory_bytes - minimum_bytes) / unit : 0;
  std::string text = fit == 0 ? "" : ": lower --ring to at most " + std::to_string(fit) + " units";
  uint64_t memory = 0;
  if (CheckedMul(unit, request.ring_units, &memory) && CheckedAdd(memory, minimum_bytes, &memory)) {
    text += (fit == 0 ? ": raise" : ", or raise") + (" --memory to at least " + Exact(memory));
  }
  if (fit > 0) return text;
  return text + "; a smaller --ring or --host-tier leaves the card more of a small machine";
}

Status BelowMinimum(const ArenaRequest& request, const Split& split, uint64_t minimum_bytes) {
  std::string text = "card " + request.card + ": ";
  text += request.automatic ? "its memory leaves an arena of " : "an arena of ";
  text += FormatBytes(request.arena_bytes);
  if (request.automatic) text += " beside the ring, which";
  for (const SlotClassPlan& c : Distribute(split, request.arena_bytes, /*hold_minimum=*/false)) {
    if (c.slots >= c.minimum_slots) continue;
    text += " holds " + std::to_string(c.slots) + " slots of " + FormatBytes(c.slot_bytes) +
            "; the minimum is " + std::to_string(c.minimum_slots) +
            (c.minimum_slots < c.units
                 ? " per size class (3 x top-" + std::to_string(request.top_k) + ")"
                 : " (all units of that size)");
    break;
  }
  return InvalidArgumentError(text + WhatToChange(request, split, minimum_bytes));
}

}  // namespace

Result<ArenaPlan> PlanArena(const ArenaRequest& request) {
  const std::string card = "card " + request.card;
  if (request.top_k == 0 || request.top_k > UINT32_MAX / 3) {
    return InvalidArgumentError(card + ": a top-k of " + std::to_string(request.top_k));
  }
  if (!request.classes.empty() && std::all_of(request.classes.begin(), request.classes.end(),
                                              [](const ArenaClass& c) { return c.units == 0; })) {
    return InvalidArgumentError(card + ": no expert is placed on it, there are more cards than " +
                                "experts: give fewer --device");
  }
  Result<Split> prepared = Prepare(request.classes, kCardAlign, 3 * request.top_k);
  if (!prepared.ok()) return prepared.status().Annotate(card);
  const Split& split = *prepared;
  const uint64_t minimum_bytes = MinimumBytes(split);
  if (request.arena_bytes < minimum_bytes) return BelowMinimum(request, split, minimum_bytes);

  ArenaPlan plan;
  plan.arena = Finish(Distribute(split, request.arena_bytes, !split.shares_given),
                      request.arena_bytes, minimum_bytes);
  for (const SlotClassPlan& c : plan.arena.classes) {
    plan.ring_slot_bytes = std::max(plan.ring_slot_bytes, c.slot_bytes);
  }
  plan.ring_slots = request.ring_units;
  uint64_t ring_bytes = 0;
  if (!CheckedMul(plan.ring_slot_bytes, plan.ring_slots, &ring_bytes) ||
      !CheckedAdd(ring_bytes, plan.arena.used_bytes, &ring_bytes)) {
    return InvalidArgumentError(card + ": a ring of " + std::to_string(request.ring_units) +
                                " units is more than can be counted: lower --ring");
  }
  return plan;
}

Result<SlotPlan> PlanSlots(std::span<const ArenaClass> classes, uint64_t bytes) {
  Result<Split> split = Prepare(classes, kIoAlign, 0);
  if (!split.ok()) return split.status().Annotate("host tier");
  return Finish(Distribute(*split, bytes, /*hold_minimum=*/false), bytes, 0);
}

std::string HostTierNote(const SlotPlan& plan, uint64_t bytes) {
  if (bytes == 0 || plan.slots > 0 || plan.classes.empty()) return "";
  uint64_t smallest = UINT64_MAX;
  for (const SlotClassPlan& c : plan.classes) smallest = std::min(smallest, c.slot_bytes);
  return "host tier of " + std::to_string(bytes) +
         " bytes holds no unit: raise --host-tier to at least " + Exact(smallest);
}

uint32_t SlotsPerChunk(uint64_t slot_bytes) {
  return static_cast<uint32_t>(
      std::max<uint64_t>(1, kChunkBytes / std::max<uint64_t>(1, slot_bytes)));
}

}  // namespace berth::arena
