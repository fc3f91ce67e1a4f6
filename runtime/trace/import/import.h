// Routing that other programs recorded, as traces. docs/formats.md says what is read.
#ifndef BERTH_RUNTIME_TRACE_IMPORT_IMPORT_H_
#define BERTH_RUNTIME_TRACE_IMPORT_IMPORT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth {

enum class ImportFormat : uint8_t { kNpy, kAccessCsv, kRouteCsv, kDump };

struct ImportOptions {
  std::optional<ImportFormat> format;  // none: by what the files begin with
  uint32_t experts = 0;                // 0: from the file, or the largest id and one more
  uint32_t top_k = 0;                  // 0: from the file
  std::optional<int64_t> none;         // an id that means nobody, besides -1
  // Fields of a dump's record of little-endian int32: "request", "row", "layer", "skip" and "ids"
  // (top_k of them), separated by commas.
  std::string record = "row,layer,ids";
  std::string model;   // what the trace shall name; empty: what the files say
  std::string source;  // likewise
  bool replace = false;
  // Called now and then with what was done, of all, in a unit of the format's own.
  std::function<void(uint64_t done, uint64_t all)> progress;
};

// What a device that recorded its own residency says of it.
struct DeviceRecord {
  uint64_t entries = 0;                                   // routed entries
  uint64_t entries_hit = 0;                               // ... whose unit was there
  uint64_t distinct = 0;                                  // distinct units of each pass and layer
  uint64_t distinct_hit = 0;                              // ... that were there
  uint64_t decode_distinct = 0, decode_distinct_hit = 0;  // of these, in decode
  uint64_t speculative_hits = 0;                          // there because of a prefetch
  uint64_t read_bytes = 0;
};

struct ImportReport {
  ImportFormat format = ImportFormat::kNpy;
  TraceInfo info;
  std::optional<DeviceRecord> device;
};

// Each file is one request, but route CSVs, whose turns are. Files are read twice: what a trace
// will be is known before it is written. Memory does not grow with the files, but for the longest
// pass of a route CSV. Errors name file, line (text) or offset (binary), and what to do; the
// output appears whole or not at all.
Result<ImportReport> ImportTrace(std::span<const std::string> files, const ImportOptions& options,
                                 const std::string& output);

std::string_view ImportFormatName(ImportFormat format);  // "npy", "access-csv", ...

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_IMPORT_IMPORT_H_
