#include "runtime/catalog/catalog.h"

#include "io/gguf/gguf_shards.h"
#include "runtime/catalog/catalog_builder.h"

namespace berth {

Result<std::unique_ptr<Catalog>> Catalog::Open(const std::string& path,
                                               const CatalogOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const io::GgufShards shards, io::ReadGgufShards(path));
  return CatalogBuilder(shards, options).Build();
}

std::string Catalog::Describe(UnitIndex unit) const {
  if (unit >= units()) return "unit " + std::to_string(unit) + " (the model has no such unit)";
  const UnitRef at = ref(unit);
  return "blk." + std::to_string(layers_[at.layer].block) + " expert " + std::to_string(at.expert) +
         " (unit " + std::to_string(unit) + ")";
}

uint64_t Catalog::resident_bytes() const {
  uint64_t bytes = sizeof(*this) + layers_.capacity() * sizeof(CatalogLayer) +
                   extents_.capacity() * sizeof(Extent) + checksums_.capacity() * sizeof(uint64_t) +
                   files_.capacity() * sizeof(ModelFile);
  for (const CatalogLayer& layer : layers_) {
    for (const kernels::SiblingSpec* sibling :
         {&layer.spec.gate_sibling, &layer.spec.up_sibling, &layer.spec.down_sibling}) {
      bytes += (sibling->bias.capacity() + sibling->scale.capacity()) * sizeof(float);
    }
  }
  for (const SizeClass& size_class : size_classes_) {
    bytes += sizeof(SizeClass) + size_class.layers.capacity() * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace berth
