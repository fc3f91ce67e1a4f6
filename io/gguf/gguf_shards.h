// A model's GGUF files: one, or the shards `name-00001-of-00003.gguf` that belong together.
#ifndef BERTH_IO_GGUF_GGUF_SHARDS_H_
#define BERTH_IO_GGUF_GGUF_SHARDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "io/gguf/gguf.h"

namespace berth::io {

struct GgufShards {
  std::vector<GgufFile> files;  // in order of split.no

  // The first file that has the key wins: writers put a model's metadata into the first shard.
  const GgufKeyValue* Find(std::string_view key) const;
};

// "dir/name" + shard 2 of 3 -> "dir/name-00002-of-00003.gguf" (`number` counts from 1).
std::string ShardPath(const std::string& prefix, uint32_t number, uint32_t count);

// `path`: a whole model, any of its shards, or a shard's path without "-00001-of-00003" (with or
// without ".gguf"). Reads every header. Errors name the shard that is missing (NotFound) or that
// belongs to another model (InvalidArgument: split.no, split.count, split.tensors.count,
// general.architecture, a tensor that another shard has as well).
Result<GgufShards> ReadGgufShards(const std::string& path);

}  // namespace berth::io

#endif  // BERTH_IO_GGUF_GGUF_SHARDS_H_
