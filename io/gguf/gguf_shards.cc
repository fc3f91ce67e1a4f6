#include "io/gguf/gguf_shards.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;

struct ShardName {
  std::string prefix;
  uint32_t number = 0;  // from 1
  uint32_t count = 0;
};

// "-00001-of-00003.gguf": what llama.cpp's gguf-split writes.
constexpr size_t kSuffixBytes = sizeof("-00001-of-00003.gguf") - 1;

std::optional<uint32_t> FiveDigits(std::string_view text) {
  uint32_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value;
}

std::optional<ShardName> ParseShardName(const std::string& path) {
  if (path.size() <= kSuffixBytes) return std::nullopt;
  const std::string_view suffix = std::string_view(path).substr(path.size() - kSuffixBytes);
  if (suffix[0] != '-' || suffix.substr(6, 4) != "-of-" || suffix.substr(15) != ".gguf") {
    return std::nullopt;
  }
  const std::optional<uint32_t> number = FiveDigits(suffix.substr(1, 5));
  const std::optional<uint32_t> count = FiveDigits(suffix.substr(10, 5));
  if (!number || !count || *number < 1 || *number > *count) return std::nullopt;
  return ShardName{path.substr(0, path.size() - kSuffixBytes), *number, *count};
}

// The lowest shard that is there of the model `path` without a suffix; `path` itself if none is.
Result<std::string> FindByPrefix(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  std::string prefix = path;
  if (prefix.ends_with(".gguf")) prefix.resize(prefix.size() - 5);
  fs::path folder = fs::path(prefix).parent_path();
  if (folder.empty()) folder = ".";
  const std::string stem = fs::path(prefix).filename().string();
  std::optional<ShardName> best;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::optional<ShardName> name = ParseShardName(at->path().filename().string());
    if (!name || name->prefix != stem) continue;
    if (best && best->count != name->count) {
      return InvalidArgumentError(path + ": shards of " + std::to_string(best->count) + " and of " +
                                  std::to_string(name->count) + " lie there: name one of them");
    }
    if (!best || name->number < best->number) best = name;
  }
  if (!best) return path;
  return ShardPath(prefix, best->number, best->count);
}

// split.* of a file; a file that has none is a whole model.
struct SplitInfo {
  uint64_t number = 0;  // from 0
  uint64_t count = 1;
  std::optional<uint64_t> tensors;
};

Result<std::optional<uint64_t>> UintOf(const GgufFile& file, std::string_view key) {
  const GgufKeyValue* entry = file.Find(key);
  if (entry == nullptr) return std::optional<uint64_t>();
  const std::optional<uint64_t> value = entry->AsUint();
  if (!value) {
    return InvalidArgumentError(file.path + ": " + std::string(key) + " is no count (type " +
                                std::string(GgufTypeName(entry->type)) + ")");
  }
  return value;
}

Result<SplitInfo> SplitOf(const GgufFile& file) {
  BERTH_ASSIGN_OR_RETURN(const std::optional<uint64_t> count, UintOf(file, "split.count"));
  BERTH_ASSIGN_OR_RETURN(const std::optional<uint64_t> number, UintOf(file, "split.no"));
  BERTH_ASSIGN_OR_RETURN(const std::optional<uint64_t> tensors,
                         UintOf(file, "split.tensors.count"));
  if (count.value_or(0) <= 1) return SplitInfo{0, 1, tensors};
  if (!number || *number >= *count) {
    return InvalidArgumentError(file.path + ": split.no is " +
                                (number ? std::to_string(*number) : "absent") + ": expected 0 to " +
                                std::to_string(*count - 1));
  }
  return SplitInfo{*number, *count, tensors};
}

Status Foreign(const GgufFile& file, const std::string& first, const std::string& what) {
  return InvalidArgumentError(file.path + ": belongs to another model than " + first + ": " + what);
}

// `file` was read as shard `index` of those that `first` describes.
Status CheckShard(const GgufFile& file, uint32_t index, const GgufFile& first,
                  const SplitInfo& expected) {
  BERTH_ASSIGN_OR_RETURN(const SplitInfo found, SplitOf(file));
  if (found.count != expected.count) {
    return Foreign(file, first.path,
                   "split.count is " + std::to_string(found.count) + ", expected " +
                       std::to_string(expected.count));
  }
  if (found.number != index) {
    return Foreign(
        file, first.path,
        "split.no is " + std::to_string(found.number) + ", expected " + std::to_string(index));
  }
  if (found.tensors && expected.tensors && found.tensors != expected.tensors) {
    return Foreign(file, first.path,
                   "split.tensors.count is " + std::to_string(*found.tensors) + ", expected " +
                       std::to_string(*expected.tensors));
  }
  const GgufKeyValue* mine = file.Find("general.architecture");
  const GgufKeyValue* theirs = first.Find("general.architecture");
  if (mine != nullptr && theirs != nullptr && mine->raw != theirs->raw) {
    return Foreign(file, first.path,
                   "general.architecture is '" + mine->raw + "', expected '" + theirs->raw + "'");
  }
  return Status();
}

// Tensor names are distinct over all shards and come out to the stated number.
Status CheckTensors(const GgufShards& shards, const std::optional<uint64_t>& expected) {
  absl::flat_hash_map<absl::string_view, const GgufFile*> owners;
  uint64_t total = 0;
  for (const GgufFile& file : shards.files) {
    total += file.tensors.size();
    for (const GgufTensor& tensor : file.tensors) {
      const auto [at, inserted] = owners.emplace(tensor.name, &file);
      if (!inserted) {
        return Foreign(file, at->second->path, "both have tensor " + tensor.name);
      }
    }
  }
  if (expected && *expected != total) {
    return InvalidArgumentError(shards.files[0].path + ": split.tensors.count is " +
                                std::to_string(*expected) + ", the " +
                                std::to_string(shards.files.size()) + " shards have " +
                                std::to_string(total) + " tensors: a shard is of another model");
  }
  return Status();
}

Result<GgufFile> ReadShard(const std::string& path, uint32_t number, uint32_t count) {
  Result<GgufFile> file = ReadGguf(path);
  if (file.ok() || file.status().code() != StatusCode::kNotFound) return file;
  return NotFoundError(path + ": shard " + std::to_string(number) + " of " + std::to_string(count) +
                       " is missing: put it beside the others");
}

}  // namespace

const GgufKeyValue* GgufShards::Find(std::string_view key) const {
  for (const GgufFile& file : files) {
    if (const GgufKeyValue* entry = file.Find(key)) return entry;
  }
  return nullptr;
}

std::string ShardPath(const std::string& prefix, uint32_t number, uint32_t count) {
  return absl::StrFormat("%s-%05u-of-%05u.gguf", prefix, number, count);
}

Result<GgufShards> ReadGgufShards(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::string found, FindByPrefix(path));
  const std::optional<ShardName> name = ParseShardName(found);
  BERTH_ASSIGN_OR_RETURN(GgufFile given, ReadGguf(found));
  BERTH_ASSIGN_OR_RETURN(const SplitInfo split, SplitOf(given));
  GgufShards shards;
  if (split.count == 1 && (!name || name->count == 1)) {
    shards.files.push_back(std::move(given));
    BERTH_RETURN_IF_ERROR(CheckTensors(shards, split.tensors));
    return shards;
  }
  if (!name || name->count != split.count || name->number != split.number + 1) {
    return InvalidArgumentError(
        found + ": its metadata says shard " + std::to_string(split.number + 1) + " of " +
        std::to_string(split.count) + ", its name says " +
        (name ? "shard " + std::to_string(name->number) + " of " + std::to_string(name->count)
              : "nothing: expected name-00001-of-00003.gguf"));
  }
  for (uint32_t i = 0; i < split.count; ++i) {
    if (i == split.number) {
      shards.files.push_back(given);
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(
        GgufFile file, ReadShard(ShardPath(name->prefix, i + 1, name->count), i + 1, name->count));
    BERTH_RETURN_IF_ERROR(CheckShard(file, i, given, split));
    shards.files.push_back(std::move(file));
  }
  BERTH_RETURN_IF_ERROR(CheckTensors(shards, split.tensors));
  return shards;
}

}  // namespace berth::io
