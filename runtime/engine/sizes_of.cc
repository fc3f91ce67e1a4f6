#include "runtime/engine/sizes_of.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "kernels/card_bytes.h"
#include "runtime/engine/host_layout.h"

namespace berth {
namespace {

// A number from 0 for the drive of each file.
std::vector<uint8_t> DriveOfFile(const Catalog& catalog, uint32_t* drives) {
  std::vector<dev_t> known;
  std::vector<uint8_t> drive_of_file;
  for (const ModelFile& file : catalog.files()) {
    struct stat status = {};
    const dev_t device = ::stat(file.path.c_str(), &status) == 0 ? status.st_dev : 0;
    auto at = std::find(known.begin(), known.end(), device);
    if (at == known.end() && known.size() < 16) at = known.insert(known.end(), device);
    drive_of_file.push_back(
        at == known.end() ? 0 : static_cast<uint8_t>(std::distance(known.begin(), at)));
  }
  *drives = std::max<uint32_t>(1, static_cast<uint32_t>(known.size()));
  return drive_of_file;
}

}  // namespace

ModelSizes SizesOf(const Catalog& catalog) {
  ModelSizes sizes;
  for (const SizeClass& c : catalog.size_classes()) {
    sizes.class_slot_bytes.push_back({c.card_bytes, c.host_bytes});
  }
  sizes.hidden = catalog.hidden();
  scheduler::Geometry& g = sizes.geometry;
  g.layers = catalog.layers();
  g.experts = catalog.experts();
  g.top_k = catalog.top_k();
  g.size_classes = static_cast<uint32_t>(catalog.size_classes().size());
  g.max_extents = kMaxExtents;
  for (uint32_t l = 0; l < g.layers; ++l) {
    const CatalogLayer& layer = catalog.layer(l);
    sizes.max_ffn = std::max(sizes.max_ffn, layer.spec.ffn);
    sizes.sibling_bytes += kernels::CardLayerBytes(layer.spec);
    g.layer_class.push_back(layer.size_class);
    g.layer_extents.push_back(static_cast<uint8_t>(layer.extent_count));
    uint32_t payload = 0;
    for (const Extent& extent : catalog.extents(catalog.unit({l, 0}))) payload += extent.bytes;
    g.layer_payload_bytes.push_back(payload);
  }
  const std::vector<uint8_t> drive_of_file = DriveOfFile(catalog, &g.drives);
  g.extent_read_bytes.resize(static_cast<size_t>(catalog.units()) * kMaxExtents);
  g.unit_drive.resize(catalog.units());
  for (UnitIndex u = 0; u < catalog.units(); ++u) {
    const uint32_t extents = g.layer_extents[u / g.experts];
    for (uint32_t e = 0; e < extents; ++e) {
      g.extent_read_bytes[static_cast<size_t>(u) * kMaxExtents + e] =
          HostLayout::Place(catalog, u, e).span_bytes;
    }
    g.unit_drive[u] = drive_of_file[catalog.extents(u)[0].file];
  }
  return sizes;
}

}  // namespace berth
