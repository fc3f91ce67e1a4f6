// What a card takes of its memory besides slots, and whether all of it fits.
#ifndef BERTH_RUNTIME_PLAN_CARD_PLAN_H_
#define BERTH_RUNTIME_PLAN_CARD_PLAN_H_

#include <cstdint>

#include "arena/arena_plan.h"
#include "berth/options.h"
#include "berth/status.h"
#include "kernels/device.h"
#include "runtime/plan/model_sizes.h"

namespace berth {

// Sizes of a card's compute stream; zeros where nothing is computed, or the shapes are not known.
kernels::StreamOptions ComputeStreamOf(const RuntimeOptions& options, const ModelSizes& model);

// Workspace, pointer table, biases and scales, partial results. 0 on a host card, whose are the
// machine's.
uint64_t CardExtraBytes(const RuntimeOptions& options, const ModelSizes& model,
                        const CardConfig& card);

// A size that was asked for is obeyed or refused: ResourceExhausted where arena, ring and `extra`
// are more than `free`. What a host card takes without a limit of its own is held against the
// machine instead.
Status CheckCardFits(const CardConfig& card, const arena::ArenaPlan& plan, uint64_t extra,
                     uint64_t free);

}  // namespace berth

#endif  // BERTH_RUNTIME_PLAN_CARD_PLAN_H_
