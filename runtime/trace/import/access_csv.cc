// "layer,expert" lines, one request a file. A row ends where the layer falls, or where its layer
// has --top-k experts already.
#include <algorithm>
#include <memory>

#include "berth/types.h"
#include "io/csv/layer_expert_csv.h"
#include "runtime/trace/import/importer.h"
#include "runtime/trace/metadata.h"

namespace berth::trace {
namespace {

class AccessCsvImporter final : public Importer {
 public:
  AccessCsvImporter(std::span<const std::string> files, const ImportOptions& options)
      : files_(files), options_(options) {}

  Status Scan(TraceInfo* info) override;
  Status Write(const TraceInfo& info, TraceWriter* writer) override;

 private:
  // entry(layer number, expert) for every line, end_row() after each row.
  template <typename Entry, typename EndRow>
  Status ForLines(const std::string& path, Entry entry, EndRow end_row);

  const std::span<const std::string> files_;
  const ImportOptions& options_;
  LayerNumbers numbers_;
  uint64_t lines_ = 0;
  uint64_t all_lines_ = 0;  // known after the scan
};

template <typename Entry, typename EndRow>
Status AccessCsvImporter::ForLines(const std::string& path, Entry entry, EndRow end_row) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<io::FileSource> source, io::FileSource::Open(path));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<io::LayerExpertCsv> csv,
                         io::LayerExpertCsv::Open(std::move(source)));
  const auto at_line = [&](const Status& status) {
    return status.Annotate(path + ":" + std::to_string(csv->line()));
  };
  uint64_t last_layer = 0;
  uint32_t of_layer = 0;  // entries of the row's last layer; 0: nothing yet
  while (true) {
    io::LayerExpert access;
    BERTH_ASSIGN_OR_RETURN(const bool more, csv->Next(&access));
    if (!more) break;
    const bool same = of_layer > 0 && access.layer == last_layer;
    const bool full = same && options_.top_k != 0 && of_layer == options_.top_k;
    if (of_layer > 0 && (access.layer < last_layer || full)) {
      if (Status status = end_row(); !status.ok()) return at_line(status);
      of_layer = 0;
    }
    of_layer = same && !full ? of_layer + 1 : 1;
    last_layer = access.layer;
    if (of_layer > kMaxTopK) {
      return at_line(InvalidArgumentError("more than " + std::to_string(kMaxTopK) +
                                          " experts of layer " + std::to_string(last_layer) +
                                          " one after the other: say --top-k"));
    }
    const Result<int32_t> id = ImportId(options_, access.expert);
    if (!id.ok()) return at_line(id.status());
    if (Status status = entry(access.layer, *id, of_layer); !status.ok()) return at_line(status);
    if (++lines_ % 65536 == 0 && options_.progress) options_.progress(lines_, all_lines_);
  }
  if (of_layer == 0) return InvalidArgumentError(path + ": no line after its header");
  return end_row();
}

Status AccessCsvImporter::Scan(TraceInfo* info) {
  uint32_t top_k = 0;
  int32_t largest = kNoExpert;
  for (const std::string& path : files_) {
    uint64_t rows = 0;
    BERTH_RETURN_IF_ERROR(ForLines(
        path,
        [&](uint32_t layer, int32_t id, uint32_t of_layer) {
          top_k = std::max(top_k, of_layer);
          largest = std::max(largest, id);
          return numbers_.Add(layer);
        },
        [&] {
          ++rows;
          return Status();
        }));
    if (rows > static_cast<uint64_t>(INT32_MAX)) {
      return InvalidArgumentError(path + ": more than 2^31 - 1 rows");
    }
    info->request_rows.push_back(static_cast<uint32_t>(rows));
    info->rows += rows;
  }
  numbers_.Finish(info);
  info->top_k = options_.top_k != 0 ? options_.top_k : top_k;
  info->experts = options_.experts != 0 ? options_.experts
                                        : std::max(static_cast<uint32_t>(largest + 1), info->top_k);
  return Status();
}

Status AccessCsvImporter::Write(const TraceInfo& info, TraceWriter* writer) {
  all_lines_ = lines_;
  lines_ = 0;
  RowBuilder row(info);
  for (const std::string& path : files_) {
    BERTH_RETURN_IF_ERROR(ForLines(
        path,
        [&](uint32_t layer, int32_t id, uint32_t) { return row.Add(numbers_.Index(layer), id); },
        [&] { return row.Append(writer); }));
  }
  return Status();
}

}  // namespace

std::unique_ptr<Importer> MakeAccessCsvImporter(std::span<const std::string> files,
                                                const ImportOptions& options) {
  return std::make_unique<AccessCsvImporter>(files, options);
}

}  // namespace berth::trace
