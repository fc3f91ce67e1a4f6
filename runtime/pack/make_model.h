// MakeModel: writes a GGUF of a wanted geometry with valid blocks of any type that is served, for
// demonstrations, tests and measurements. Its experts compute something, its answers mean nothing.
#ifndef BERTH_RUNTIME_PACK_MAKE_MODEL_H_
#define BERTH_RUNTIME_PACK_MAKE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/pack/parallel.h"

namespace berth::models {

struct MakeModelOptions {
  std::string output;  // with `files` > 1: becomes output-00001-of-0000N.gguf
  std::string architecture = "qwen3moe";
  std::string conventions;             // of an architecture that is not in the table
  std::string types = "iq3_s+iq4_nl";  // as ParseLayerTypes takes them
  uint32_t layers = 0;                 // MoE layers
  uint32_t dense_layers = 0;           // before them
  uint32_t experts = 0;
  uint32_t top_k = 0;
  uint32_t hidden = 0;
  uint32_t ffn = 0;
  uint32_t files = 1;
  uint32_t alignment = 32;
  uint32_t version = 3;
  uint64_t seed = 1;
  bool fused = false;   // gate and up in one tensor
  bool biases = false;  // siblings of all expert tensors
  bool scales = false;
  bool shared = false;  // tensors that are not experts', as real files have them
  bool replace = false;
  uint32_t threads = DefaultThreads();
};

struct MakeModelReport {
  std::vector<std::string> paths;
  uint64_t tensors = 0;
  uint64_t bytes = 0;  // of all files
};

// Every byte is a function of the options but for `output` and `threads`. All files appear whole or
// not at all, after the last of them was written; shards carry the name of their set
// (catalog::kSplitSetKey), so that those of two sets are not taken for one model. `progress` may be
// null.
Result<MakeModelReport> MakeModel(const MakeModelOptions& options, Progress* progress);

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_MAKE_MODEL_H_
