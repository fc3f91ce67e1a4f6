// ExpertSpec: what the grouped expert call must know of one MoE layer. It is made by the model
// catalog, never changes, and all sizes in it have been checked against the model's metadata.
#ifndef BERTH_KERNELS_EXPERT_EXPERT_SPEC_H_
#define BERTH_KERNELS_EXPERT_EXPERT_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"

namespace berth::kernels {

// How gate g and up u become the down projection's input.
enum class Activation : uint8_t {
  kSiluGate,     // silu(g) * u
  kGeluGate,     // gelu_tanh(g) * u
  kClampedGate,  // gpt-oss: g = min(g, limit), u = clamp(u, -limit, limit),
                 // g * sigmoid(alpha * g) * (u + 1)
  kReluGate,     // max(g, 0) * u
  kSquaredRelu,  // max(u, 0)^2, no gate
};
std::string_view ActivationName(Activation activation);  // "silu-gate", ...

// The conventions of one model architecture (general.architecture of a GGUF).
struct ExpertConventions {
  Activation activation = Activation::kSiluGate;
  float alpha = 1.702f;    // kClampedGate
  float limit = 7.0f;      // kClampedGate
  bool gate_first = true;  // of a fused gate_up tensor: gate rows come before up rows
  // Router weights scale the expert's input instead of its output (llama4).
  bool weights_before = false;
  bool has_gate() const { return activation != Activation::kSquaredRelu; }
};

// From the table of known architectures. NotFound names the architecture and the flag that states
// conventions by hand.
Result<ExpertConventions> ConventionsOf(std::string_view architecture);
// "silu-gate", "gelu-gate,up-first", "clamped-gate:alpha=1.702,limit=7", ...
Result<ExpertConventions> ParseConventions(std::string_view text);

// One matrix of a unit: y[rows] = W[rows][cols] x[cols], rows stored one after the other.
struct MatrixSpec {
  TensorType type = TensorType::kF32;
  uint32_t rows = 0;  // outputs
  uint32_t cols = 0;  // inputs; a multiple of the type's block
  uint64_t row_bytes = 0;
  uint64_t offset = 0;  // of row 0, from the unit's address on a card
};

// Small resident tensors indexed by the model's own expert id (never by slot). Empty: absent.
struct SiblingSpec {
  std::vector<float> bias;   // [experts][rows of the matrix]
  std::vector<float> scale;  // [experts]: multiplies W x, before the bias
};

struct ExpertSpec {
  uint32_t experts = 0;
  uint32_t hidden = 0;  // columns of gate and up, rows of down
  uint32_t ffn = 0;     // rows of gate and up, columns of down
  ExpertConventions conventions;
  // A fused gate_up tensor is two MatrixSpecs into the same bytes. Without a gate, gate.rows = 0.
  MatrixSpec gate, up, down;
  SiblingSpec gate_sibling, up_sibling, down_sibling;
  uint64_t unit_bytes = 0;  // on a card: tensors packed at multiples of 256 bytes
};

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_EXPERT_SPEC_H_
