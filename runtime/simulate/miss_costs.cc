#include "runtime/simulate/miss_costs.h"

#include <algorithm>
#include <vector>

#include "runtime/simulate/cost_model.h"

namespace berth {
namespace {

// The links as the profile has them, but for those whose rate a caller chose.
std::vector<CardConfig> OwnLinks(const MachineProfile& profile, std::span<const CardConfig> cards) {
  std::vector<CardConfig> own(cards.begin(), cards.end());
  for (CardConfig& card : own) {
    for (const LinkProfile& link : profile.links) {
      if (link.card == card.device && link.bytes_per_s == card.link_bytes_per_s) {
        card.link_bytes_per_s = 0;
      }
    }
  }
  return own;
}

// A unit's read while the drive is as busy as it may be.
Nanos ReadCost(StorageCosts* storage, const scheduler::CoreOptions& core, uint32_t layer) {
  const scheduler::Geometry& g = core.geometry;
  Nanos cost = 0;
  for (uint32_t e = 0; e < g.layer_extents[layer]; ++e) {
    const uint32_t bytes = std::max(1u, g.read_bytes(layer * g.experts, e));
    const auto depth = static_cast<uint32_t>(
        std::clamp<uint64_t>(core.read_bytes_in_flight / bytes, 1, core.max_reads));
    cost += storage->Read(bytes, depth);
  }
  return cost / g.drives;  // units are spread over the drives
}

scheduler::CardMissCosts CardCostsOf(const MachineCosts& machine, size_t card,
                                     const scheduler::CoreOptions& core) {
  const scheduler::Geometry& g = core.geometry;
  const LinkCosts& link = machine.links[card];
  const CardCosts& kernels = machine.cards[card];
  scheduler::CardMissCosts costs;
  // A victim's withdrawal, and the thread that issues the first copy; then the publication.
  costs.lead = kernels.update() + link.issue() * g.layer_extents[0];
  costs.tail = kernels.update() + link.latency();
  for (uint32_t l = 0; l < g.layers; ++l) {
    const uint32_t bytes = g.layer_payload_bytes[l];
    const uint32_t segments = g.layer_extents[l];
    costs.copy.push_back(std::max(link.Copy(bytes, segments, /*to_card=*/true, /*both=*/false),
                                  link.issue() * segments));
    // Calls of one unit and of a whole wave, and the line through both.
    const uint32_t wave = std::max(2u, core.chunk);
    const Nanos one = kernels.Wave(1, bytes, 1);
    const Nanos each = (std::max(kernels.Wave(wave, bytes, wave), one) - one) / (wave - 1);
    costs.call.push_back(one - std::min(one, each));
    for (uint32_t rows = 1; rows <= core.exact_rows; ++rows) {
      const Nanos of_one = kernels.Wave(1, bytes, rows);
      const Nanos of_wave = std::max(kernels.Wave(wave, bytes, wave * rows), of_one);
      costs.unit.push_back((of_wave - of_one) / (wave - 1));
    }
  }
  return costs;
}

}  // namespace

scheduler::MissCosts MissCostsOf(const MachineProfile& profile, std::span<const CardConfig> cards,
                                 const scheduler::CoreOptions& core) {
  const scheduler::Geometry& g = core.geometry;
  MachineCosts machine = MakeCosts(profile, OwnLinks(profile, cards));
  scheduler::MissCosts costs;
  costs.rows = core.exact_rows;
  costs.rest = machine.host.pass / g.layers;
  costs.rest_row = machine.host.pass_row / g.layers;
  for (uint32_t l = 0; l < g.layers; ++l) {
    costs.read.push_back(ReadCost(&machine.storage, core, l));
    for (uint32_t rows = 1; rows <= core.exact_rows; ++rows) {
      costs.host.push_back(machine.host_compute.Unit(g.layer_payload_bytes[l], rows));
    }
  }
  for (size_t c = 0; c < cards.size(); ++c) costs.cards.push_back(CardCostsOf(machine, c, core));
  return costs;
}

}  // namespace berth
