// The memory plan: from options, a model's sizes and one reading of memory to the options of the
// core and the slots of every tier. Pure arithmetic, the same for the engine and for the simulator,
// so that both decide over the same slots.
#ifndef BERTH_RUNTIME_PLAN_MEMORY_PLAN_H_
#define BERTH_RUNTIME_PLAN_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "arena/arena_plan.h"
#include "berth/options.h"
#include "berth/stats.h"
#include "berth/status.h"
#include "kernels/device.h"
#include "kernels/expert/arithmetic.h"
#include "runtime/base/math.h"
#include "runtime/config/machine_profile.h"
#include "runtime/plan/model_sizes.h"
#include "scheduler/core.h"

namespace berth {

// What a driver keeps for each read that may be under way; engine.cc holds it against its records.
inline constexpr uint64_t kBytesPerRead = 112;

// A host card's memory is the machine's.
inline bool IsHostDevice(std::string_view device) { return device.starts_with("host"); }

// The host computes misses.
inline bool HostComputes(const RuntimeOptions& options) {
  return options.miss == MissChoice::kHost || options.miss == MissChoice::kAuto;
}
// Partial results stay in card memory where one card computes all of them, and is none of the
// host's.
inline bool PartialsOnCard(const RuntimeOptions& options) {
  return options.compute && options.cards.size() == 1 && !IsHostDevice(options.cards[0].device) &&
         !HostComputes(options);
}
// Partial results of a step on a card.
inline uint64_t PartialBytes(const RuntimeOptions& options, uint32_t top_k, uint32_t hidden) {
  return AlignUp(static_cast<uint64_t>(options.max_rows) * top_k * hidden * sizeof(float),
                 kCardAlign);
}

// Of a machine whose memory nobody stated.
inline constexpr uint64_t kNoLimit = uint64_t{1} << 60;

struct PlanInputs {
  const RuntimeOptions* options = nullptr;
  const ModelSizes* model = nullptr;
  // Of the machine that decisions by cost are made for; nullptr: its defaults.
  const MachineProfile* profile = nullptr;
  uint32_t threads = 1;          // that compute on the host
  uint64_t available_bytes = 0;  // of the machine, read once
  // [cards]: of their memory, for arena, ring and all else; kNoLimit: nobody knows
  std::vector<uint64_t> card_free_bytes;
};

struct MemoryPlan {
  scheduler::CoreOptions core;
  std::vector<arena::ArenaPlan> arenas;  // [cards]
  // Sizes of each card's compute stream, and [cards] of what a card takes besides arena and ring.
  kernels::StreamOptions compute_stream;
  std::vector<uint64_t> card_extra_bytes;
  uint64_t host_tier_bytes = 0;
  uint64_t staging_bytes = 0;
  uint64_t workspace_bytes = 0;  // places of steps and scratch of the compute streams
  uint64_t books_bytes = 0;      // a driver's own tables, beside the core's
  std::vector<std::string> notes;
};

// What `options` say of expert math; InvalidArgument for what is not known here.
Result<kernels::Arithmetic> ArithmeticOf(const RuntimeOptions& options);

// Options that cannot be meant, whatever the model: InvalidArgument.
Status CheckRuntimeOptions(const RuntimeOptions& options);

// InvalidArgument where a size is below its minimum, ResourceExhausted where the sum is more than
// the machine or a card has; both name what to change. An arena whose size was left open takes as
// much as makes all units resident, as far as the memory goes.
Result<MemoryPlan> PlanMemory(const PlanInputs& inputs);

// The part of a RuntimeInfo that the plan fixes: cards, slots, arena and ring bytes, notes.
RuntimeInfo PlannedInfo(const RuntimeOptions& options, const MemoryPlan& plan);

}  // namespace berth

#endif  // BERTH_RUNTIME_PLAN_MEMORY_PLAN_H_
