#include "runtime/trace/import/importer.h"

#include <algorithm>

#include "berth/types.h"
#include "runtime/trace/metadata.h"

namespace berth::trace {

Status LayerNumbers::Add(int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(kMaxLayers)) {
    return InvalidArgumentError("layer " + std::to_string(number) +
                                ": expected a number from 0 to " + std::to_string(kMaxLayers - 1));
  }
  const auto at = static_cast<size_t>(number);
  if (at >= seen_.size()) seen_.resize(at + 1);
  seen_[at] = true;
  return Status();
}

void LayerNumbers::Finish(TraceInfo* info) {
  index_.assign(seen_.size(), 0);
  std::vector<uint32_t> ids;
  for (uint32_t number = 0; number < seen_.size(); ++number) {
    if (!seen_[number]) continue;
    index_[number] = static_cast<uint32_t>(ids.size());
    ids.push_back(number);
  }
  info->layers = static_cast<uint32_t>(ids.size());
  if (!ids.empty() && ids.back() + 1 != ids.size()) info->layer_ids = std::move(ids);
}

RowBuilder::RowBuilder(const TraceInfo& info)
    : top_k_(info.top_k), ids_(size_t{info.layers} * info.top_k, kNoExpert), used_(info.layers) {}

Status RowBuilder::Add(uint32_t layer, int32_t expert) {
  if (used_[layer] == top_k_) {
    return InvalidArgumentError("more than " + std::to_string(top_k_) +
                                " experts of one layer in one row: check --top-k");
  }
  ids_[size_t{layer} * top_k_ + used_[layer]++] = expert;
  return Status();
}

Status RowBuilder::Append(TraceWriter* writer) {
  BERTH_RETURN_IF_ERROR(writer->Append({.experts = ids_}));
  std::fill(ids_.begin(), ids_.end(), kNoExpert);
  std::fill(used_.begin(), used_.end(), 0u);
  return Status();
}

Result<int32_t> ImportId(const ImportOptions& options, int64_t id) {
  if (id == kNoExpert || (options.none && id == *options.none)) return int32_t{kNoExpert};
  const int64_t limit = options.experts > 0 ? options.experts : int64_t{kMaxExperts};
  if (id >= 0 && id < limit) return static_cast<int32_t>(id);
  return OutOfRangeError("expert id " + std::to_string(id) + ": expected less than " +
                         std::to_string(limit) + (options.experts > 0 ? " (--experts)" : "") +
                         ", or say --none for an id that means nobody");
}

}  // namespace berth::trace
