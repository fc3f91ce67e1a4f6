// The pack: a GGUF whose units are contiguous (docs/formats.md, "Pack").
//
//   berth.pack.version            u32      1
//   berth.pack.blk.N.tensors      u32[]    role, type, rows, columns of each tensor of a unit
//   blk.N.ffn_exps.pack           I8 {stride, experts}: unit e at e * stride, laid out as on a card
//   berth.pack.checksums          I64 {4, experts, layers}: UnitSums of each unit
#ifndef BERTH_RUNTIME_CATALOG_PACK_LAYOUT_H_
#define BERTH_RUNTIME_CATALOG_PACK_LAYOUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/gguf/gguf_shards.h"
#include "runtime/catalog/layer_plan.h"
#include "runtime/catalog/unit_sums.h"

namespace berth::catalog {

inline constexpr std::string_view kPackVersionKey = "berth.pack.version";
inline constexpr uint32_t kPackVersion = 1;
inline constexpr std::string_view kPackChecksumsName = "berth.pack.checksums";
inline constexpr uint32_t kGgmlTypeI8 = 24;
inline constexpr uint32_t kGgmlTypeI64 = 27;

std::string PackTensorName(uint32_t block);  // "blk.N.ffn_exps.pack"
std::string PackTensorsKey(uint32_t block);  // "berth.pack.blk.N.tensors"

// True if the file says it is a pack; Unimplemented for a version that is not served.
Result<bool> IsPack(const io::GgufShards& shards);
// A layer of a pack.
Result<LayerPlan> PlanPackedLayer(const io::GgufShards& shards, const ModelMetadata& model,
                                  uint32_t block, const BlockTensors& tensors);
// Reads the table of checksums, layer by layer.
Result<std::vector<UnitSums>> ReadPackChecksums(const io::GgufShards& shards, uint32_t layers,
                                                uint32_t experts);

}  // namespace berth::catalog

#endif  // BERTH_RUNTIME_CATALOG_PACK_LAYOUT_H_
