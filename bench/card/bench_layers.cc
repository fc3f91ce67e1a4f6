#include "bench/card/bench_layers.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/card/memory_kernels.h"

namespace berth::bench {
namespace {

constexpr uint32_t kStock = 8;  // units that are generated
// Units of the cached table: together less than the cache of any card.
constexpr uint64_t kCachedBytes = 8 << 20;

}  // namespace

Result<BenchLayers> BenchLayers::Create(const CardInfo& card, const CardStream& stream,
                                        const TypePair& pair, const ExpertShape& shape,
                                        uint32_t layers) {
  BenchLayers made;
  made.spec_ = MakeExpertSpec(pair, shape);
  made.layers_ = layers;
  const uint64_t unit_bytes = made.spec_.unit_bytes;
  const uint32_t count = layers * shape.experts;
  made.stock_.resize(kStock * unit_bytes);
  for (uint32_t i = 0; i < kStock; ++i) {
    GenerateUnit(made.spec_, i, made.stock_.data() + i * unit_bytes);
  }
  BERTH_ASSIGN_OR_RETURN(const CardMemory stock, Upload(stream, made.stock_, "units"));
  BERTH_ASSIGN_OR_RETURN(made.arena_, CardMemory::Allocate(count * unit_bytes, "all units"));
  BERTH_RETURN_IF_ERROR(LaunchSpreadUnits(stock.data(), kStock, made.arena_.data(), count,
                                          unit_bytes, card.processors, stream.get()));
  BERTH_RETURN_IF_ERROR(stream.Synchronize());
  made.order_.resize(count);
  std::iota(made.order_.begin(), made.order_.end(), 0u);
  std::shuffle(made.order_.begin(), made.order_.end(), std::mt19937_64(1));
  const auto hot = static_cast<uint32_t>(
      std::clamp<uint64_t>(kCachedBytes / unit_bytes, 1, std::min(kStock, count)));
  std::vector<const std::byte*> table, cached;
  for (uint32_t i = 0; i < count; ++i) {
    table.push_back(made.arena_.data() + made.order_[i] * unit_bytes);
    cached.push_back(made.arena_.data() + i % hot * unit_bytes);
  }
  BERTH_ASSIGN_OR_RETURN(made.table_, Upload(stream, table, "pointer table"));
  BERTH_ASSIGN_OR_RETURN(made.cached_, Upload(stream, cached, "pointer table"));
  return made;
}

const std::byte* BenchLayers::OnCard(uint32_t layer, uint32_t expert) const {
  return arena_.data() + SlotOf(layer, expert) * spec_.unit_bytes;
}

const std::byte* BenchLayers::OnHost(uint32_t layer, uint32_t expert) const {
  return stock_.data() + SlotOf(layer, expert) % kStock * spec_.unit_bytes;
}

}  // namespace berth::bench
