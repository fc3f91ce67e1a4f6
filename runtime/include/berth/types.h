// The words that every part of Berth shares: units, layers, the GGUF tensor types.
#ifndef BERTH_TYPES_H_
#define BERTH_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

// One expert of one layer as a dense number: layer * experts + expert, with layers in trace order
// (block numbers live in the catalog). A model has far fewer than 2^32 of them.
using UnitIndex = uint32_t;
inline constexpr UnitIndex kNoUnit = UINT32_MAX;

// A slot of one tier, counted from 0 within its tier (host) or its card.
using SlotIndex = uint32_t;
inline constexpr SlotIndex kNoSlot = UINT32_MAX;

struct UnitRef {
  uint32_t layer = 0;   // trace order, from 0
  uint32_t expert = 0;  // the model's own expert id
  friend bool operator==(const UnitRef&, const UnitRef&) = default;
};

// Expert id of a routing entry that routes to nobody.
inline constexpr int32_t kNoExpert = -1;

// Tensor types by their GGUF id (facts of the format: github.com/ggml-org/ggml, docs/gguf.md and
// ggml.h). These are the types an expert tensor may have; F32 stands for siblings only.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
};

// Element type of activations and outputs that cross the public interface.
enum class DataType : uint8_t { kF32, kF16, kBF16 };

// The tensors of a unit.
enum class TensorRole : uint8_t { kGate, kUp, kDown, kGateUp };
std::string_view TensorRoleName(TensorRole role);  // "gate", "up", "down", "gate_up"

}  // namespace berth

#endif  // BERTH_TYPES_H_
