// The sidecar `<first file of the model>.berth-sums`: checksums for a model that carries none
// (docs/formats.md, "Sidecar"). Little-endian:
//
//   char[8] "BERTHSUM"   u32 version (1)   u32 files   u32 layers   u32 experts
//   u64[files] bytes of each file
//   u64 XXH3-64 of the extents (file u64, offset u64, bytes u64 each; units in order)
//   UnitSums[layers * experts]
//   u64 XXH3-64 of everything before
#ifndef BERTH_RUNTIME_CATALOG_SIDECAR_H_
#define BERTH_RUNTIME_CATALOG_SIDECAR_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/catalog/catalog.h"
#include "runtime/catalog/unit_sums.h"

namespace berth::catalog {

// `first_file`: the model's first.
std::string SidecarPath(const std::string& first_file);
std::string SidecarPath(const Catalog& catalog);
// The sidecar's bytes for this model.
std::string EncodeSidecar(const Catalog& catalog, std::span<const UnitSums> checksums);
// The checksums in `bytes`. DataLoss if they are damaged, FailedPrecondition if they are of another
// model or of another state of this one; both say what to do.
Result<std::vector<UnitSums>> DecodeSidecar(const Catalog& catalog, const std::string& path,
                                            std::span<const std::byte> bytes);
// From the file beside the model; an empty list if there is none.
Result<std::vector<UnitSums>> ReadSidecar(const Catalog& catalog);

}  // namespace berth::catalog

#endif  // BERTH_RUNTIME_CATALOG_SIDECAR_H_
