#include "runtime/catalog/model_metadata.h"

namespace berth::catalog {
namespace {

using io::GgufKeyValue;
using io::GgufType;

// No model is within a factor of a thousand of this; what is above is damage, and refusing it here
// keeps every product of these figures far from overflow.
constexpr uint64_t kMaxFigure = 1 << 30;

class Reader {
 public:
  explicit Reader(const io::GgufShards& shards) : shards_(shards) {}

  Result<std::string> String(const std::string& key) const {
    const GgufKeyValue* entry = shards_.Find(key);
    if (entry == nullptr) return std::string();
    if (!entry->AsString()) return WrongType(key, *entry, "string");
    return std::string(*entry->AsString());
  }

  Result<std::optional<uint64_t>> Figure(const std::string& key) const {
    const GgufKeyValue* entry = shards_.Find(key);
    if (entry == nullptr || entry->type == GgufType::kArray) return std::optional<uint64_t>();
    const std::optional<uint64_t> value = entry->AsUint();
    if (!value) return WrongType(key, *entry, "count");
    if (*value > kMaxFigure) {
      return InvalidArgumentError(path() + ": " + key + " is " + std::to_string(*value) +
                                  ": expected at most " + std::to_string(kMaxFigure));
    }
    return value;
  }

  const std::string& path() const { return shards_.files.front().path; }

 private:
  Status WrongType(const std::string& key, const GgufKeyValue& entry, const char* expected) const {
    return InvalidArgumentError(path() + ": " + key + " is of type " +
                                std::string(io::GgufTypeName(entry.type)) + ": expected a " +
                                expected);
  }
  const io::GgufShards& shards_;
};

std::string SetOf(const io::GgufFile& file) {
  const io::GgufKeyValue* entry = file.Find(kSplitSetKey);
  return entry == nullptr ? "" : entry->raw;
}

// Shapes and counts do not tell apart the shards of two models that were made alike.
Status CheckOneSet(const io::GgufShards& shards) {
  const io::GgufFile& first = shards.files.front();
  for (const io::GgufFile& file : shards.files) {
    if (SetOf(file) == SetOf(first)) continue;
    return InvalidArgumentError(file.path + ": belongs to another model than " + first.path + ": " +
                                std::string(kSplitSetKey) + " is '" + SetOf(file) +
                                "', expected '" + SetOf(first) + "'");
  }
  return Status();
}

}  // namespace

Result<ModelMetadata> ReadModelMetadata(const io::GgufShards& shards,
                                        const std::string& conventions) {
  BERTH_RETURN_IF_ERROR(CheckOneSet(shards));
  const Reader reader(shards);
  ModelMetadata model;
  model.path = reader.path();
  BERTH_ASSIGN_OR_RETURN(model.architecture, reader.String("general.architecture"));
  BERTH_ASSIGN_OR_RETURN(model.name, reader.String("general.name"));
  if (model.architecture.empty()) {
    return InvalidArgumentError(model.path + ": general.architecture is absent: not a model");
  }
  const std::string prefix = model.architecture + ".";
  BERTH_ASSIGN_OR_RETURN(model.block_count, reader.Figure(prefix + "block_count"));
  BERTH_ASSIGN_OR_RETURN(model.hidden, reader.Figure(prefix + "embedding_length"));
  BERTH_ASSIGN_OR_RETURN(model.experts, reader.Figure(prefix + "expert_count"));
  BERTH_ASSIGN_OR_RETURN(model.ffn, reader.Figure(prefix + "expert_feed_forward_length"));
  BERTH_ASSIGN_OR_RETURN(model.leading_dense, reader.Figure(prefix + "leading_dense_block_count"));
  BERTH_ASSIGN_OR_RETURN(const std::optional<uint64_t> top_k,
                         reader.Figure(prefix + "expert_used_count"));
  if (model.experts == 0u) {
    return InvalidArgumentError(model.path + ": " + prefix +
                                "expert_count is 0: a dense model has no experts to serve");
  }
  if (top_k.value_or(0) == 0) {
    return InvalidArgumentError(model.path + ": " + prefix + "expert_used_count is " +
                                (top_k ? "0" : "absent") +
                                ": expected how many experts a row is routed to");
  }
  model.top_k = static_cast<uint32_t>(*top_k);
  if (conventions.empty()) {
    Result<kernels::ExpertConventions> known = kernels::ConventionsOf(model.architecture);
    if (!known.ok()) return known.status().Annotate(model.path);
    model.conventions = *known;
  } else {
    BERTH_ASSIGN_OR_RETURN(model.conventions, kernels::ParseConventions(conventions));
  }
  return model;
}

}  // namespace berth::catalog
