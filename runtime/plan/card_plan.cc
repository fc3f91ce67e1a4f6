#include "runtime/plan/card_plan.h"

#include <algorithm>
#include <string>

#include "kernels/card_bytes.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"
#include "runtime/plan/memory_plan.h"

namespace berth {

kernels::StreamOptions ComputeStreamOf(const RuntimeOptions& options, const ModelSizes& model) {
  kernels::StreamOptions stream;
  if (!options.compute || model.hidden == 0) return stream;
  stream.max_hidden = model.hidden;
  stream.max_ffn = model.max_ffn;
  stream.max_rows = options.max_rows;
  stream.max_pairs = options.max_rows * model.geometry.top_k;
  stream.max_units = std::min(stream.max_pairs, model.geometry.experts);
  return stream;
}

uint64_t CardExtraBytes(const RuntimeOptions& options, const ModelSizes& model,
                        const CardConfig& card) {
  if (IsHostDevice(card.device)) return 0;
  const scheduler::Geometry& geometry = model.geometry;
  uint64_t bytes = kernels::CardStreamBytes(ComputeStreamOf(options, model)) + model.sibling_bytes +
                   static_cast<uint64_t>(geometry.units()) * sizeof(void*);
  if (PartialsOnCard(options)) {
    bytes += PartialBytes(options, geometry.top_k, model.hidden) * options.max_sessions *
             options.max_in_flight;
  }
  // Each of them begins at a boundary.
  return bytes + (8 + geometry.layers) * kCardAlign;
}

Status CheckCardFits(const CardConfig& card, const arena::ArenaPlan& plan, uint64_t extra,
                     uint64_t free) {
  if (IsHostDevice(card.device) && card.memory_bytes == 0) return Status();
  if (plan.bytes() + extra <= free) return Status();
  const uint64_t besides = plan.ring_bytes() + extra;
  return ResourceExhaustedError(
      "card " + card.device + ": an arena of " + FormatBytes(plan.arena.used_bytes) +
      ", a ring of " + FormatBytes(plan.ring_bytes()) + " and " + FormatBytes(extra) +
      " for what is computed are more than the " + FormatBytes(free) + " that are free: " +
      (free > besides ? "lower --arena to " + FormatBytes(free - besides) + " or less"
                      : std::string("lower --ring, or max_rows (--streams, --window)")));
}

}  // namespace berth
