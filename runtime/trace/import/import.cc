#include "runtime/trace/import/import.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "io/csv/line_reader.h"
#include "io/file/byte_source.h"
#include "io/file/output_file.h"
#include "runtime/trace/import/importer.h"
#include "runtime/trace/trace_writer.h"

namespace berth {
namespace {

struct Known {
  std::string_view name;
  trace::MakeImporterFunction* make;
};
constexpr std::array<Known, 4> kFormats = {
    Known{"npy", trace::MakeNpyImporter}, Known{"access-csv", trace::MakeAccessCsvImporter},
    Known{"route-csv", trace::MakeRouteCsvImporter}, Known{"dump", trace::MakeDumpImporter}};

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::string_view kRouteMagic = "# route_trace";
constexpr std::string_view kAccessHeader = "layer,expert";

// The first line that is no comment says what a CSV is; a route CSV says it in its first.
bool IsAccessCsv(std::string_view text) {
  while (text.starts_with('#')) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return text.starts_with(kAccessHeader);
}

Result<ImportFormat> Detect(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<io::FileSource> source, io::FileSource::Open(path));
  std::array<char, 4096> first;
  BERTH_ASSIGN_OR_RETURN(const size_t read,
                         source->ReadSome(0, std::as_writable_bytes(std::span(first))));
  std::string_view text(first.data(), read);
  if (text.starts_with(io::kByteOrderMark)) text.remove_prefix(io::kByteOrderMark.size());
  if (text.starts_with(kNpyMagic)) return ImportFormat::kNpy;
  if (text.starts_with(kRouteMagic)) return ImportFormat::kRouteCsv;
  if (IsAccessCsv(text)) return ImportFormat::kAccessCsv;
  return InvalidArgumentError(path +
                              ": no .npy file, no route CSV and no 'layer,expert' CSV: say "
                              "--format (a dump of int32 records cannot be told from other bytes)");
}

}  // namespace

std::string_view ImportFormatName(ImportFormat format) {
  return kFormats[static_cast<size_t>(format)].name;
}

Result<ImportReport> ImportTrace(std::span<const std::string> files, const ImportOptions& options,
                                 const std::string& output) {
  if (files.empty()) return InvalidArgumentError("no file to import");
  BERTH_RETURN_IF_ERROR(io::CheckIsNoInput(output, files, "a file to import"));
  ImportReport report;
  if (options.format) {
    report.format = *options.format;
  } else {
    BERTH_ASSIGN_OR_RETURN(report.format, Detect(files.front()));
  }
  const std::unique_ptr<trace::Importer> importer =
      kFormats[static_cast<size_t>(report.format)].make(files, options);
  BERTH_RETURN_IF_ERROR(importer->Scan(&report.info));
  if (!options.model.empty()) report.info.model = options.model;
  if (!options.source.empty()) report.info.source = options.source;
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceWriter> writer,
                         TraceWriter::Create(output, report.info, options.replace));
  BERTH_RETURN_IF_ERROR(importer->Write(report.info, writer.get()));
  BERTH_RETURN_IF_ERROR(writer->Commit());
  report.device = importer->device();
  return report;
}

}  // namespace berth
