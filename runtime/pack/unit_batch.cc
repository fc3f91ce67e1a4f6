#include "runtime/pack/unit_batch.h"

#include <algorithm>

#include "runtime/base/hash.h"

namespace berth::models {

std::vector<BatchRange> BatchesOf(const Catalog& catalog, uint64_t bytes) {
  std::vector<BatchRange> batches;
  for (uint32_t layer = 0; layer < catalog.layers(); ++layer) {
    const SizeClass& size = catalog.size_classes()[catalog.layer(layer).size_class];
    const uint64_t per_batch = std::max<uint64_t>(1, bytes / size.payload_bytes);
    const auto step = static_cast<uint32_t>(std::min<uint64_t>(per_batch, catalog.experts()));
    for (uint32_t first = 0; first < catalog.experts(); first += step) {
      batches.push_back({layer, first, std::min(step, catalog.experts() - first)});
    }
  }
  return batches;
}

std::vector<UnitPart> PartsOf(const Catalog& catalog, uint32_t layer) {
  const kernels::ExpertSpec& spec = catalog.layer(layer).spec;
  const std::span<const Extent> extents = catalog.extents(catalog.unit({layer, 0}));
  const auto part = [](TensorRole role, const kernels::MatrixSpec& matrix) {
    return UnitPart{role, 0, 0, matrix.offset, matrix.rows * matrix.row_bytes};
  };
  std::vector<UnitPart> parts;
  if (extents[0].role == TensorRole::kGateUp) {
    UnitPart fused = part(TensorRole::kGateUp, spec.gate);
    fused.card_offset = std::min(spec.gate.offset, spec.up.offset);
    fused.bytes += spec.up.rows * spec.up.row_bytes;
    parts.push_back(fused);
  } else {
    if (spec.conventions.has_gate()) parts.push_back(part(TensorRole::kGate, spec.gate));
    parts.push_back(part(TensorRole::kUp, spec.up));
  }
  parts.push_back(part(TensorRole::kDown, spec.down));
  for (uint32_t i = 0; i < parts.size(); ++i) {
    parts[i].extent = extents.size() == 1 ? 0 : i;
    parts[i].offset = parts[i].card_offset - extents[parts[i].extent].card_offset;
  }
  return parts;
}

Result<UnitFiles> UnitFiles::Open(const Catalog& catalog) {
  UnitFiles files;
  files.catalog_ = &catalog;
  for (const ModelFile& file : catalog.files()) {
    BERTH_ASSIGN_OR_RETURN(auto source, io::FileSource::Open(file.path));
    if (source->bytes() != file.bytes) {
      return DataLossError(file.path + ": has " + std::to_string(source->bytes()) +
                           " bytes: expected " + std::to_string(file.bytes) +
                           ", as when it was opened; it is being written to");
    }
    files.files_.push_back(std::move(source));
  }
  return files;
}

Status UnitBatch::Read(const UnitFiles& files, const BatchRange& range) {
  catalog_ = &files.catalog();
  range_ = range;
  const auto first = catalog_->extents(catalog_->unit({range.layer, range.first}));
  const auto last = catalog_->extents(catalog_->unit({range.layer, range.first + range.count - 1}));
  for (uint32_t i = 0; i < first.size(); ++i) {
    bytes_[i].resize(last[i].offset + last[i].bytes - first[i].offset);
    BERTH_RETURN_IF_ERROR(files.file(first[i].file).ReadAt(first[i].offset, bytes_[i]));
  }
  return Status();
}

std::span<const std::byte> UnitBatch::extent(uint32_t index, uint32_t extent) const {
  const auto first = catalog_->extents(catalog_->unit({range_.layer, range_.first}));
  const auto mine = catalog_->extents(catalog_->unit({range_.layer, range_.first + index}));
  return std::span(bytes_[extent])
      .subspan(mine[extent].offset - first[extent].offset, mine[extent].bytes);
}

uint64_t UnitBatch::Checksum(uint32_t index) const {
  StreamHash64 hash;
  const uint32_t extents = catalog_->layer(range_.layer).extent_count;
  for (uint32_t i = 0; i < extents; ++i) {
    const std::span<const std::byte> bytes = extent(index, i);
    hash.Update(bytes.data(), bytes.size());
  }
  return hash.Digest();
}

catalog::UnitSums UnitBatch::Sums(uint32_t index, std::span<const UnitPart> parts) const {
  catalog::UnitSums sums{Checksum(index)};
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::span<const std::byte> bytes = part(index, parts[i]);
    sums.tensors[i] = Hash64(bytes.data(), bytes.size());
  }
  return sums;
}

}  // namespace berth::models
