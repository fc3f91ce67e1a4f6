// PackModel: writes a pack of a model, a GGUF whose units are contiguous, aligned and checksummed
// (docs/formats.md, "Pack").
#ifndef BERTH_RUNTIME_PACK_PACK_H_
#define BERTH_RUNTIME_PACK_PACK_H_

#include <cstdint>
#include <string>

#include "berth/status.h"
#include "runtime/pack/parallel.h"

namespace berth::models {

struct PackOptions {
  std::string model;
  std::string output;
  std::string conventions;  // of an architecture that is not in the table
  bool replace = false;     // an existing output
  uint32_t threads = DefaultThreads();
};

struct PackReport {
  uint32_t layers = 0;
  uint64_t units = 0;
  uint64_t unit_bytes = 0;   // payload of all units
  uint64_t other_bytes = 0;  // tensors carried over as they are
  uint64_t file_bytes = 0;
};

// The output appears whole or not at all. Where the model has a sidecar its units are checked as
// they are read. `progress` may be null.
Result<PackReport> PackModel(const PackOptions& options, Progress* progress);

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_PACK_H_
