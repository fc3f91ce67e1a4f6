// Importer: one format. Read once for what the trace will be, once more for its rows.
#ifndef BERTH_RUNTIME_TRACE_IMPORT_IMPORTER_H_
#define BERTH_RUNTIME_TRACE_IMPORT_IMPORTER_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/trace/import/import.h"
#include "runtime/trace/trace_writer.h"

namespace berth::trace {

class Importer {
 public:
  virtual ~Importer() = default;
  // Fills everything of the info but model and source where the files do not say them.
  virtual Status Scan(TraceInfo* info) = 0;
  // Appends all rows. `info` is what Scan gave.
  virtual Status Write(const TraceInfo& info, TraceWriter* writer) = 0;
  virtual std::optional<DeviceRecord> device() const { return std::nullopt; }
};

// Both must outlive the importer.
using MakeImporterFunction = std::unique_ptr<Importer>(std::span<const std::string> files,
                                                       const ImportOptions& options);
MakeImporterFunction MakeNpyImporter, MakeAccessCsvImporter, MakeRouteCsvImporter, MakeDumpImporter;

// Layers as files number them, in ascending order: their place is the trace's layer.
class LayerNumbers {
 public:
  // InvalidArgument for a number that no model has.
  Status Add(int64_t number);
  // The layers of the info, and its layer_ids where the numbers are not 0..n-1.
  void Finish(TraceInfo* info);
  uint32_t Index(int64_t number) const { return index_[static_cast<size_t>(number)]; }

 private:
  std::vector<bool> seen_;
  std::vector<uint32_t> index_;
};

// Of a format that has rows as runs of (layer, expert) entries: collects those of one row.
class RowBuilder {
 public:
  // Rows as wide as `info` says.
  explicit RowBuilder(const TraceInfo& info);
  // InvalidArgument where the layer has top_k experts already.
  Status Add(uint32_t layer, int32_t expert);
  // The row, filled up with "none"; then empty again.
  Status Append(TraceWriter* writer);

 private:
  const uint32_t top_k_;
  std::vector<int32_t> ids_;
  std::vector<uint32_t> used_;  // of each layer
};

// An id as a file has it: kNoExpert for -1 and options.none; OutOfRange for one that no model has,
// or that is beyond options.experts.
Result<int32_t> ImportId(const ImportOptions& options, int64_t id);

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_IMPORT_IMPORTER_H_
