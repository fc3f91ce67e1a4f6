// Dumps: records of little-endian int32 whose fields --record names. See docs/formats.md.
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "berth/types.h"
#include "io/file/byte_source.h"
#include "runtime/base/format.h"
#include "runtime/trace/import/importer.h"
#include "runtime/trace/metadata.h"

namespace berth::trace {
namespace {

constexpr std::array<std::string_view, 5> kFields = {"request", "row", "layer", "ids", "skip"};
constexpr uint64_t kBlockBytes = 1u << 20;

// Where the fields of a record stand, in words; -1: not there.
struct Layout {
  int request = -1;
  int row = -1;
  int layer = -1;
  int ids = -1;
  uint32_t words = 0;
};

Result<Layout> ParseLayout(const std::string& text, uint32_t top_k) {
  Layout layout;
  std::string_view rest = text;
  while (true) {
    const std::string_view field = rest.substr(0, rest.find(','));
    const auto known = std::find(kFields.begin(), kFields.end(), field);
    if (known == kFields.end()) {
      return InvalidArgumentError("--record " + text + ": no field '" + std::string(field) + "'" +
                                  DidYouMean(field, kFields) +
                                  "; there are request, row, layer, ids and skip");
    }
    int* const places[] = {&layout.request, &layout.row, &layout.layer, &layout.ids, nullptr};
    int* place = places[known - kFields.begin()];
    if (place != nullptr && *place >= 0) {
      return InvalidArgumentError("--record " + text + ": '" + std::string(field) +
                                  "' stands twice");
    }
    if (place != nullptr) *place = static_cast<int>(layout.words);
    layout.words += field == "ids" ? top_k : 1;
    if (layout.words > 2 * kMaxTopK) return InvalidArgumentError("--record " + text + ": too long");
    if (field.size() == rest.size()) break;
    rest.remove_prefix(field.size() + 1);
  }
  if (layout.layer < 0 || layout.ids < 0) {
    return InvalidArgumentError("--record " + text + ": a record needs layer and ids");
  }
  return layout;
}

int32_t WordAt(const std::byte* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::to_integer<uint32_t>(bytes[i]) << (8 * i);
  return static_cast<int32_t>(value);
}

class DumpImporter final : public Importer {
 public:
  DumpImporter(std::span<const std::string> files, const ImportOptions& options)
      : files_(files), options_(options) {}

  Status Scan(TraceInfo* info) override;
  Status Write(const TraceInfo& info, TraceWriter* writer) override;

 private:
  // What ends before a record.
  enum class Ends { kNothing, kRow, kRequest };
  Result<Ends> Before(const int32_t* record);

  // record(words) for every record; before each end_row() and end_request() as they fall due.
  template <typename Record, typename EndRow, typename EndRequest>
  Status ForRecords(const std::string& path, Record record, EndRow end_row, EndRequest end_request);

  const std::span<const std::string> files_;
  const ImportOptions& options_;
  Layout layout_;
  LayerNumbers numbers_;
  bool begun_ = false;  // of a file: the last record's fields are
  int32_t last_request_ = 0;
  int32_t last_row_ = 0;
  int32_t last_layer_ = 0;
  uint64_t done_ = 0;
  uint64_t all_ = 0;
};

Result<DumpImporter::Ends> DumpImporter::Before(const int32_t* record) {
  const int32_t request = layout_.request < 0 ? 0 : record[layout_.request];
  const int32_t row = layout_.row < 0 ? 0 : record[layout_.row];
  const int32_t layer = record[layout_.layer];
  Ends ends = Ends::kNothing;
  if (begun_ && request != last_request_) {
    ends = Ends::kRequest;
  } else if (begun_ && layout_.row >= 0 && row < last_row_) {
    // Without a field of its own, a request begins where rows begin anew.
    if (layout_.request >= 0) {
      return InvalidArgumentError("row " + std::to_string(row) + " after row " +
                                  std::to_string(last_row_) +
                                  ": the records of a request must stand in the order of its rows");
    }
    ends = Ends::kRequest;
  } else if (begun_ && (layout_.row >= 0 ? row != last_row_ : layer <= last_layer_)) {
    ends = Ends::kRow;
  }
  begun_ = true;
  last_request_ = request;
  last_row_ = row;
  last_layer_ = layer;
  return ends;
}

template <typename Record, typename EndRow, typename EndRequest>
Status DumpImporter::ForRecords(const std::string& path, Record record, EndRow end_row,
                                EndRequest end_request) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<io::FileSource> source, io::FileSource::Open(path));
  const uint64_t record_bytes = uint64_t{layout_.words} * 4;
  const uint64_t records = source->bytes() / record_bytes;
  if (records == 0 || source->bytes() % record_bytes != 0) {
    return DataLossError(path + ": " + std::to_string(source->bytes()) +
                         " bytes are no whole number of records of " +
                         std::to_string(record_bytes) + ": check --record and --top-k");
  }
  std::vector<std::byte> block(std::max(kBlockBytes / record_bytes, uint64_t{1}) * record_bytes);
  std::vector<int32_t> words(layout_.words);
  begun_ = false;
  for (uint64_t offset = 0; offset < source->bytes();) {
    const uint64_t take = std::min<uint64_t>(block.size(), source->bytes() - offset);
    BERTH_RETURN_IF_ERROR(source->ReadAt(offset, std::span(block).first(take)));
    for (uint64_t at = 0; at < take; at += record_bytes) {
      for (uint32_t i = 0; i < layout_.words; ++i) words[i] = WordAt(block.data() + at + 4 * i);
      const auto annotate = [&](const Status& status) {
        return status.Annotate(path + ": record at byte " + std::to_string(offset + at));
      };
      const Result<Ends> ends = Before(words.data());
      if (!ends.ok()) return annotate(ends.status());
      if (*ends != Ends::kNothing) BERTH_RETURN_IF_ERROR(end_row());
      if (*ends == Ends::kRequest) end_request();
      if (Status status = record(words.data()); !status.ok()) return annotate(status);
    }
    offset += take;
    done_ += take / record_bytes;
    if (options_.progress) options_.progress(done_, std::max(done_, all_));
  }
  BERTH_RETURN_IF_ERROR(end_row());
  end_request();
  return Status();
}

Status DumpImporter::Scan(TraceInfo* info) {
  if (options_.top_k == 0) {
    return InvalidArgumentError("a dump does not say how many ids a record has: say --top-k");
  }
  BERTH_ASSIGN_OR_RETURN(layout_, ParseLayout(options_.record, options_.top_k));
  int32_t largest = kNoExpert;
  uint32_t rows = 0;
  for (const std::string& path : files_) {
    BERTH_RETURN_IF_ERROR(ForRecords(
        path,
        [&](const int32_t* words) {
          for (uint32_t k = 0; k < options_.top_k; ++k) {
            BERTH_ASSIGN_OR_RETURN(const int32_t id, ImportId(options_, words[layout_.ids + k]));
            largest = std::max(largest, id);
          }
          return numbers_.Add(words[layout_.layer]);
        },
        [&] {
          ++rows;
          return Status();
        },
        [&] {
          info->request_rows.push_back(rows);
          info->rows += rows;
          rows = 0;
        }));
  }
  numbers_.Finish(info);
  info->top_k = options_.top_k;
  info->experts = options_.experts != 0 ? options_.experts
                                        : std::max(static_cast<uint32_t>(largest + 1), info->top_k);
  return Status();
}

Status DumpImporter::Write(const TraceInfo& info, TraceWriter* writer) {
  all_ = done_;
  done_ = 0;
  RowBuilder row(info);
  for (const std::string& path : files_) {
    BERTH_RETURN_IF_ERROR(ForRecords(
        path,
        [&](const int32_t* words) {
          const uint32_t layer = numbers_.Index(words[layout_.layer]);
          for (uint32_t k = 0; k < options_.top_k; ++k) {
            BERTH_ASSIGN_OR_RETURN(const int32_t id, ImportId(options_, words[layout_.ids + k]));
            BERTH_RETURN_IF_ERROR(row.Add(layer, id));
          }
          return Status();
        },
        [&] { return row.Append(writer); }, [] {}));
  }
  return Status();
}

}  // namespace

std::unique_ptr<Importer> MakeDumpImporter(std::span<const std::string> files,
                                           const ImportOptions& options) {
  return std::make_unique<DumpImporter>(files, options);
}

}  // namespace berth::trace
