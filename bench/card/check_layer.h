// A small layer in every place that its units may lie in on a card, scattered, between bytes that
// nobody may touch; and the audit that finds a byte that changed.
#ifndef BERTH_BENCH_CARD_CHECK_LAYER_H_
#define BERTH_BENCH_CARD_CHECK_LAYER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/card/card.h"
#include "berth/status.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/gpu/expert_launch.h"
#include "tests/kernels/expert_model.h"

namespace berth::bench {

// Where a unit lies: in the arena, which the pointer table knows; in the ring, of which it does
// not; or in host memory as it was read, every tensor some bytes behind where it should be.
enum class Home : uint8_t { kArena, kRing, kMapped };
inline constexpr uint32_t kHomes = 3;

class PlacedLayer {
 public:
  // Units of other layers come first in the pointer table.
  static constexpr UnitIndex kFirstUnit = 3;

  // The layer must outlive it.
  static Result<PlacedLayer> Place(const CardStream& stream, const kernels::testing::Layer& layer);

  const kernels::ExpertSpec& spec() const { return layer_->spec; }
  const kernels::testing::Layer& host() const { return *layer_; }
  kernels::gpu::CardLayer card_layer() const;
  const std::byte* const* table() const { return table_.as<const std::byte* const>(); }

  // Address and shifts of an expert's unit there; the table's entry where that has one.
  void Locate(uint32_t expert, Home home, kernels::WaveUnit* unit) const;
  // Takes an expert's entry out of the table, or puts it back.
  Status SetPublished(const CardStream& stream, uint32_t expert, bool published);

  // Bytes that are not what was placed: of an expert's slot in the arena; of all memory, what lies
  // between the units included.
  Result<uint64_t> AuditSlot(const CardStream& stream, uint32_t expert) const;
  Result<uint64_t> AuditAll(const CardStream& stream) const;
  // Changes a byte of an expert's slot in the arena; twice is never.
  Status FlipByte(const CardStream& stream, uint32_t expert, uint64_t offset, uint8_t bits);

 private:
  // Memory with units in it, and a second copy that no kernel knows of.
  struct Region {
    CardMemory memory, truth;
    std::vector<std::byte> image;
    std::vector<uint64_t> at;  // by expert
  };

  Status Fill(const CardStream& stream, Home home);
  Result<uint64_t> Audit(const CardStream& stream, const std::byte* memory, const std::byte* truth,
                         uint64_t bytes) const;

  const kernels::testing::Layer* layer_ = nullptr;
  std::array<Region, kHomes> places_;
  std::vector<std::array<int64_t, 3>> shifts_;  // of mapped units
  CardMemory table_, differ_;
  std::array<CardMemory, 6> siblings_;  // bias and scale of gate, up, down
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_CHECK_LAYER_H_
