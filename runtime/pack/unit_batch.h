// Units read many at a time: a batch is a run of experts of one layer, whose extents follow each
// other on file, so that a batch is as many big sequential reads as a unit has extents.
#ifndef BERTH_RUNTIME_PACK_UNIT_BATCH_H_
#define BERTH_RUNTIME_PACK_UNIT_BATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "io/file/byte_source.h"
#include "runtime/catalog/catalog.h"
#include "runtime/catalog/unit_sums.h"

namespace berth::models {

struct BatchRange {
  uint32_t layer = 0;
  uint32_t first = 0;  // expert
  uint32_t count = 0;
};
// All units in order, in batches of about `bytes`.
std::vector<BatchRange> BatchesOf(const Catalog& catalog, uint64_t bytes = 8u << 20);

// One tensor of a unit: where it lies on a card and which of the unit's extents holds it.
struct UnitPart {
  TensorRole role = TensorRole::kGate;
  uint32_t extent = 0;
  uint64_t offset = 0;       // from the extent's first byte
  uint64_t card_offset = 0;  // from the unit's first byte
  uint64_t bytes = 0;
};
// In the order of their card offsets; the same list for a plain model and its pack but for extent
// and offset.
std::vector<UnitPart> PartsOf(const Catalog& catalog, uint32_t layer);

// The files of a catalog, open for reading from any thread.
class UnitFiles {
 public:
  static Result<UnitFiles> Open(const Catalog& catalog);
  const Catalog& catalog() const { return *catalog_; }
  const io::FileSource& file(uint32_t index) const { return *files_[index]; }

 private:
  const Catalog* catalog_ = nullptr;
  std::vector<std::unique_ptr<io::FileSource>> files_;
};

// One thread's buffers for one batch.
class UnitBatch {
 public:
  Status Read(const UnitFiles& files, const BatchRange& range);
  // Extent `extent` of the batch's `index`th unit.
  std::span<const std::byte> extent(uint32_t index, uint32_t extent) const;
  std::span<const std::byte> part(uint32_t index, const UnitPart& part) const {
    return extent(index, part.extent).subspan(part.offset, part.bytes);
  }
  // XXH3-64 of the payload, as Catalog::checksum has it.
  uint64_t Checksum(uint32_t index) const;
  // The same and those of the unit's parts. `parts` are of the batch's layer.
  catalog::UnitSums Sums(uint32_t index, std::span<const UnitPart> parts) const;

 private:
  const Catalog* catalog_ = nullptr;
  BatchRange range_;
  std::array<std::vector<std::byte>, kMaxExtents> bytes_;
};

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_UNIT_BATCH_H_
