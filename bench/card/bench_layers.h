// Layers whose units are all resident on a card: far more bytes than its caches hold.
#ifndef BERTH_BENCH_CARD_BENCH_LAYERS_H_
#define BERTH_BENCH_CARD_BENCH_LAYERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/card/card.h"
#include "bench/expert_load.h"
#include "berth/status.h"
#include "kernels/expert/expert_spec.h"

namespace berth::bench {

class BenchLayers {
 public:
  // Every expert of every layer has a slot of its own. The bytes in them are those of a few units
  // that were generated.
  static Result<BenchLayers> Create(const CardInfo& card, const CardStream& stream,
                                    const TypePair& pair, const ExpertShape& shape,
                                    uint32_t layers);

  const kernels::ExpertSpec& spec() const { return spec_; }
  uint32_t layers() const { return layers_; }
  uint64_t unit_bytes() const { return spec_.unit_bytes; }
  // Entry layer * experts + expert: slots in a shuffled order.
  const std::byte* const* table() const { return table_.as<const std::byte* const>(); }
  // The same entries, but all of a few units, which the card's caches hold.
  const std::byte* const* cached_table() const { return cached_.as<const std::byte* const>(); }
  // What lies there: the card's address, and the same bytes on the host.
  const std::byte* OnCard(uint32_t layer, uint32_t expert) const;
  const std::byte* OnHost(uint32_t layer, uint32_t expert) const;

 private:
  uint64_t SlotOf(uint32_t layer, uint32_t expert) const {
    return order_[uint64_t{layer} * spec_.experts + expert];
  }

  kernels::ExpertSpec spec_;
  uint32_t layers_ = 0;
  std::vector<std::byte> stock_;
  std::vector<uint32_t> order_;  // [layers][experts]: slots
  CardMemory arena_, table_, cached_;
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_BENCH_LAYERS_H_
