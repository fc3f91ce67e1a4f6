#include "berth/types.h"

namespace berth {

std::string_view TensorRoleName(TensorRole role) {
  switch (role) {
    case TensorRole::kGate:
      return "gate";
    case TensorRole::kUp:
      return "up";
    case TensorRole::kDown:
      return "down";
    case TensorRole::kGateUp:
      return "gate_up";
  }
  return "unknown";
}

}  // namespace berth
