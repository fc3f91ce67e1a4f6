#include "bench/card/check_layer.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "runtime/base/math.h"

namespace berth::bench {

using kernels::ExpertSpec;
using kernels::MatrixSpec;
using kernels::SiblingSpec;

namespace {

constexpr uint64_t kAlign = 256;           // of units on a card
constexpr uint64_t kMostGap = 16;          // of these, between units
constexpr uint64_t kMostShift = 3 * 4096;  // what is read ahead of a tensor, for three of them

// Heads of a read: any byte of 4096 for the first of two units, an even one for the other. A fused
// tensor is one read; otherwise no tensor's head is before the one of the tensor in front of it.
std::array<int64_t, 3> ShiftsOf(const ExpertSpec& spec, uint32_t expert, std::mt19937_64* random) {
  std::array<int64_t, 3> shifts;
  int64_t last = 0;
  for (int64_t& shift : shifts) {
    const auto head = static_cast<int64_t>((*random)() % 4096);
    last += expert % 2 == 0 ? head : head / 2 * 2;
    shift = last;
  }
  const uint64_t first = std::min(spec.gate.offset, spec.up.offset);
  const uint64_t second = std::max(spec.gate.offset, spec.up.offset);
  if (second == first + spec.up.rows * spec.up.row_bytes) shifts[1] = shifts[0];
  return shifts;
}

// A unit as it is read: its tensors, each further on than in the arena.
void PutShifted(const ExpertSpec& spec, const std::byte* unit, const std::array<int64_t, 3>& shifts,
                std::byte* to) {
  const MatrixSpec* const matrices[] = {&spec.gate, &spec.up, &spec.down};
  for (size_t m = 0; m < 3; ++m) {
    const MatrixSpec& matrix = *matrices[m];
    const uint64_t bytes = matrix.rows * matrix.row_bytes;
    std::memcpy(to + matrix.offset + shifts[m], unit + matrix.offset, bytes);
  }
}

}  // namespace

Result<PlacedLayer> PlacedLayer::Place(const CardStream& stream,
                                       const kernels::testing::Layer& layer) {
  PlacedLayer placed;
  placed.layer_ = &layer;
  for (const Home home : {Home::kArena, Home::kRing, Home::kMapped}) {
    BERTH_RETURN_IF_ERROR(placed.Fill(stream, home));
  }
  std::vector<const std::byte*> table(kFirstUnit + layer.spec.experts, nullptr);
  const Region& arena = placed.places_[0];
  for (uint32_t e = 0; e < layer.spec.experts; ++e) {
    table[kFirstUnit + e] = arena.memory.data() + arena.at[e];
  }
  BERTH_ASSIGN_OR_RETURN(placed.table_, Upload(stream, table, "pointer table"));
  BERTH_ASSIGN_OR_RETURN(placed.differ_, CardMemory::Allocate(sizeof(uint64_t), "audit"));
  const SiblingSpec* const siblings[] = {&layer.spec.gate_sibling, &layer.spec.up_sibling,
                                         &layer.spec.down_sibling};
  for (size_t m = 0; m < 3; ++m) {
    BERTH_ASSIGN_OR_RETURN(placed.siblings_[2 * m], Upload(stream, siblings[m]->bias, "bias"));
    BERTH_ASSIGN_OR_RETURN(placed.siblings_[2 * m + 1],
                           Upload(stream, siblings[m]->scale, "scale"));
  }
  return placed;
}

Status PlacedLayer::Fill(const CardStream& stream, Home home) {
  const ExpertSpec& spec = layer_->spec;
  Region& place = places_[static_cast<size_t>(home)];
  std::mt19937_64 random(static_cast<uint64_t>(home) + 1);
  std::vector<uint32_t> order(spec.experts);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  const bool mapped = home == Home::kMapped;
  place.at.resize(spec.experts);
  if (mapped) shifts_.resize(spec.experts);
  uint64_t end = kAlign;
  for (const uint32_t expert : order) {
    place.at[expert] = end + random() % kMostGap * kAlign;
    end = AlignUp(place.at[expert] + spec.unit_bytes + (mapped ? kMostShift : 0), kAlign) + kAlign;
  }
  // 0xFF is no number in any float format: reading what is no unit's shows.
  place.image.assign(end, std::byte{0xFF});
  for (uint32_t expert = 0; expert < spec.experts; ++expert) {
    const std::byte* const unit = layer_->units[expert].data();
    std::byte* const to = place.image.data() + place.at[expert];
    if (mapped) {
      shifts_[expert] = ShiftsOf(spec, expert, &random);
      PutShifted(spec, unit, shifts_[expert], to);
    } else {
      std::memcpy(to, unit, spec.unit_bytes);
    }
  }
  BERTH_ASSIGN_OR_RETURN(place.truth, Upload(stream, place.image, "audit"));
  if (!mapped) {
    BERTH_ASSIGN_OR_RETURN(place.memory, Upload(stream, place.image, "units"));
    return Status();
  }
  BERTH_ASSIGN_OR_RETURN(place.memory, CardMemory::AllocateMapped(end, "units of the host"));
  std::memcpy(place.memory.host(), place.image.data(), end);
  return Status();
}

kernels::gpu::CardLayer PlacedLayer::card_layer() const {
  const auto siblings = [&](size_t m) {
    kernels::gpu::CardSiblings to;
    if (siblings_[2 * m].bytes() > 0) to.bias = siblings_[2 * m].as<const float>();
    if (siblings_[2 * m + 1].bytes() > 0) to.scale = siblings_[2 * m + 1].as<const float>();
    return to;
  };
  return {&layer_->spec, siblings(0), siblings(1), siblings(2)};
}

void PlacedLayer::Locate(uint32_t expert, Home home, kernels::WaveUnit* unit) const {
  unit->unit = kFirstUnit + expert;
  unit->address = nullptr;
  unit->shifts = {};
  if (home == Home::kArena) return;
  const Region& place = places_[static_cast<size_t>(home)];
  unit->address = place.memory.data() + place.at[expert];
  if (home == Home::kMapped) unit->shifts = shifts_[expert];
}

Status PlacedLayer::SetPublished(const CardStream& stream, uint32_t expert, bool published) {
  const std::byte* const address = places_[0].memory.data() + places_[0].at[expert];
  const std::byte* const entry = published ? address : nullptr;
  return stream.ToCard(table_.data() + (kFirstUnit + expert) * sizeof(entry), &entry,
                       sizeof(entry));
}

Result<uint64_t> PlacedLayer::Audit(const CardStream& stream, const std::byte* memory,
                                    const std::byte* truth, uint64_t bytes) const {
  uint64_t differ = 0;
  BERTH_RETURN_IF_ERROR(stream.ToCard(differ_.data(), &differ, sizeof(differ)));
  BERTH_RETURN_IF_ERROR(
      kernels::gpu::LaunchAudit(memory, truth, bytes, differ_.as<uint64_t>(), stream.get()));
  BERTH_RETURN_IF_ERROR(stream.ToHost(&differ, differ_.data(), sizeof(differ)));
  return differ;
}

Result<uint64_t> PlacedLayer::AuditSlot(const CardStream& stream, uint32_t expert) const {
  const Region& arena = places_[0];
  return Audit(stream, arena.memory.data() + arena.at[expert],
               arena.truth.data() + arena.at[expert], layer_->spec.unit_bytes);
}

Result<uint64_t> PlacedLayer::AuditAll(const CardStream& stream) const {
  uint64_t differ = 0;
  for (const Region& place : places_) {
    BERTH_ASSIGN_OR_RETURN(const uint64_t here, Audit(stream, place.memory.data(),
                                                      place.truth.data(), place.image.size()));
    differ += here;
  }
  return differ;
}

Status PlacedLayer::FlipByte(const CardStream& stream, uint32_t expert, uint64_t offset,
                             uint8_t bits) {
  Region& arena = places_[0];
  const uint64_t at = arena.at[expert] + offset;
  arena.image[at] ^= std::byte{bits};
  return stream.ToCard(arena.memory.data() + at, &arena.image[at], 1);
}

}  // namespace berth::bench
