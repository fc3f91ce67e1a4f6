// Catalog: where every unit of a model lies on file and what it is made of.
//
// Made from a GGUF (v2 or v3, split or not, or a pack, which is a GGUF with its experts side by
// side). Everything in it has been checked: counts of tensors per layer, shapes against metadata,
// offsets against file sizes, sizes against overflow. Immutable once open; read from any thread.
#ifndef BERTH_RUNTIME_CATALOG_CATALOG_H_
#define BERTH_RUNTIME_CATALOG_CATALOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "kernels/expert/expert_spec.h"

namespace berth {

struct ModelFile {
  std::string path;
  uint64_t bytes = 0;
};

// A run of bytes of one unit in one file. On a card its tensors go to card_offset: the unit's
// tensors packed at multiples of 256 bytes (kCardAlign), heads dropped.
struct Extent {
  uint32_t file = 0;
  uint64_t offset = 0;
  uint32_t bytes = 0;        // payload
  uint32_t card_offset = 0;  // where the payload begins within the unit on a card
  TensorRole role = TensorRole::kGate;
};
// Extents per unit: gate, up, down; or fewer where fused.
inline constexpr uint32_t kMaxExtents = 3;

struct CatalogLayer {
  uint32_t block = 0;       // the N of blk.N
  uint32_t size_class = 0;  // index into size_classes()
  uint32_t extent_count = 0;
  kernels::ExpertSpec spec;
};

// All layers whose units have equal size: payload and on a card.
struct SizeClass {
  uint64_t payload_bytes = 0;  // of a unit's extents: its quantized bytes, and in a pack the
                               // padding between its tensors
  uint64_t card_bytes = 0;     // with tensors aligned to 256
  uint64_t host_bytes = 0;     // worst case of a host slot: every extent with its head and tail
                               // rounded out to 4096 for direct reads, tensors one after the other
  std::vector<uint32_t> layers;
};

struct CatalogOptions {
  // States the conventions of an architecture that is not in the table; empty: use the table.
  std::string conventions;
  // Do not look for checksums beside the model.
  bool ignore_sidecar = false;
};

class Catalog {
 public:
  // `path`: the model's file, or any of its shards. Errors: NotFound (no such file, a shard
  // missing), InvalidArgument (not a GGUF, contradictory metadata: says expected and found),
  // DataLoss (truncated), Unimplemented (a type or architecture that is not served).
  static Result<std::unique_ptr<Catalog>> Open(const std::string& path,
                                               const CatalogOptions& options = {});

  const std::string& architecture() const { return architecture_; }
  const std::string& model_name() const { return model_name_; }  // general.name, may be empty
  std::span<const ModelFile> files() const { return files_; }
  uint32_t layers() const { return static_cast<uint32_t>(layers_.size()); }  // MoE layers
  uint32_t experts() const { return experts_; }
  uint32_t top_k() const { return top_k_; }
  uint32_t hidden() const { return hidden_; }
  uint32_t units() const { return layers() * experts_; }
  uint32_t dense_layers() const { return dense_layers_; }
  const CatalogLayer& layer(uint32_t index) const { return layers_[index]; }
  std::span<const SizeClass> size_classes() const { return size_classes_; }
  UnitIndex unit(UnitRef ref) const { return ref.layer * experts_ + ref.expert; }
  UnitRef ref(UnitIndex unit) const { return {unit / experts_, unit % experts_}; }
  // "blk.12 expert 345 (unit 6489)".
  std::string Describe(UnitIndex unit) const;

  // The unit's extents, in the order of their card offsets.
  std::span<const Extent> extents(UnitIndex unit) const {
    const uint32_t first = unit * kMaxExtents;
    return {&extents_[first], layers_[unit / experts_].extent_count};
  }
  // XXH3-64 of the unit's payload, tensors in the order of extents(); absent for a plain GGUF
  // without a sidecar.
  bool has_checksums() const { return !checksums_.empty(); }
  uint64_t checksum(UnitIndex unit) const { return checksums_[unit]; }
  bool is_pack() const { return is_pack_; }
  // Memory the catalog takes, siblings included.
  uint64_t resident_bytes() const;

 private:
  friend class CatalogBuilder;
  Catalog() = default;
  std::string architecture_;
  std::string model_name_;
  std::vector<ModelFile> files_;
  std::vector<CatalogLayer> layers_;
  std::vector<SizeClass> size_classes_;
  std::vector<Extent> extents_;  // units * kMaxExtents
  std::vector<uint64_t> checksums_;
  uint32_t experts_ = 0;
  uint32_t top_k_ = 0;
  uint32_t hidden_ = 0;
  uint32_t dense_layers_ = 0;
  bool is_pack_ = false;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_CATALOG_CATALOG_H_
