// VerifyModel: are a model's units what they should be?
#ifndef BERTH_RUNTIME_PACK_VERIFY_H_
#define BERTH_RUNTIME_PACK_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/pack/parallel.h"

namespace berth::models {

struct VerifyOptions {
  std::string model;        // a pack or a plain model
  std::string source;       // compare with this model, byte by byte; empty: checksums alone
  std::string conventions;  // of an architecture that is not in the table
  bool write = false;       // make the sidecar of a plain model instead of checking
  bool replace = false;     // an existing sidecar
  uint32_t threads = DefaultThreads();
};

struct VerifyReport {
  uint64_t units = 0;
  uint64_t bytes = 0;  // payload read of the model
  bool checksums = false;
  bool compared = false;
  std::string written;  // path of the sidecar
  // One line per finding, in the order of the units: which unit, which tensor, file and offset.
  // Only the first ones are kept.
  std::vector<std::string> findings;
  uint64_t bad_units = 0;
};
inline constexpr size_t kMaxFindings = 20;

// Not ok where the work could not be done. A unit that is wrong is no such error: it stands in the
// report. Reads everything once. `progress` may be null.
Result<VerifyReport> VerifyModel(const VerifyOptions& options, Progress* progress);

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_VERIFY_H_
