// CatalogBuilder: puts a catalog together from GGUF headers.
#ifndef BERTH_RUNTIME_CATALOG_CATALOG_BUILDER_H_
#define BERTH_RUNTIME_CATALOG_CATALOG_BUILDER_H_

#include <map>
#include <memory>

#include "berth/status.h"
#include "io/gguf/gguf_shards.h"
#include "runtime/catalog/catalog.h"
#include "runtime/catalog/expert_tensors.h"
#include "runtime/catalog/layer_plan.h"
#include "runtime/catalog/model_metadata.h"

namespace berth {

class CatalogBuilder {
 public:
  // `shards` must outlive the builder.
  CatalogBuilder(const io::GgufShards& shards, const CatalogOptions& options)
      : shards_(shards), options_(options), catalog_(new Catalog()) {}

  Result<std::unique_ptr<Catalog>> Build();

 private:
  Status PlanLayers();
  Status CheckBlocks(const std::map<uint32_t, catalog::BlockTensors>& blocks);
  Status AddLayer(const catalog::LayerPlan& plan, const catalog::BlockTensors& tensors);
  void AddExtents(const catalog::LayerPlan& plan);
  void AddSizeClasses();
  Status LoadChecksums();

  const io::GgufShards& shards_;
  const CatalogOptions& options_;
  catalog::ModelMetadata model_;
  std::unique_ptr<Catalog> catalog_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_CATALOG_CATALOG_BUILDER_H_
