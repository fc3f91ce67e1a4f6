// The metadata of a model that its experts are checked against.
#ifndef BERTH_RUNTIME_CATALOG_MODEL_METADATA_H_
#define BERTH_RUNTIME_CATALOG_MODEL_METADATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "berth/status.h"
#include "io/gguf/gguf_shards.h"
#include "kernels/expert/expert_spec.h"

namespace berth::catalog {

// String in every shard of a model that was made here: equal in all, or the shards are of several.
inline constexpr std::string_view kSplitSetKey = "berth.split.set";

struct ModelMetadata {
  std::string path;  // of the first file, for messages
  std::string architecture;
  std::string name;
  kernels::ExpertConventions conventions;
  uint32_t top_k = 0;  // <arch>.expert_used_count: cannot be told from shapes
  // Absent in the file: taken from the shapes. Where a key holds one value per block instead of
  // one for all it is passed over too; the shapes must then agree among themselves.
  std::optional<uint64_t> block_count;
  std::optional<uint64_t> hidden;         // <arch>.embedding_length
  std::optional<uint64_t> experts;        // <arch>.expert_count
  std::optional<uint64_t> ffn;            // <arch>.expert_feed_forward_length
  std::optional<uint64_t> leading_dense;  // <arch>.leading_dense_block_count
};

// `conventions`: as ParseConventions takes them; empty: from the table of architectures.
// InvalidArgument where the shards are not of one set.
Result<ModelMetadata> ReadModelMetadata(const io::GgufShards& shards,
                                        const std::string& conventions);

}  // namespace berth::catalog

#endif  // BERTH_RUNTIME_CATALOG_MODEL_METADATA_H_
