#include "runtime/trace/export.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/types.h"
#include "io/file/output_file.h"

namespace berth {
namespace {

constexpr size_t kFlushBytes = 1u << 20;
constexpr size_t kOracleRecordBytes = 24;
// Accesses that the backward pass holds at a time.
constexpr uint64_t kBlockAccesses = 1u << 18;

void PutLittleEndian(uint64_t value, uint32_t bytes, std::byte* to) {
  for (uint32_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

class Exporter {
 public:
  Exporter(TraceFile* trace, const ExportOptions& options)
      : trace_(*trace),
        info_(trace->info()),
        options_(options),
        next_(uint64_t{info_.layers} * info_.experts, -1) {}

  Status Check() const;
  // One reading: what there will be.
  Result<ExportReport> Count();
  Status WriteText(io::OutputFile* file);
  Status WriteOracle(uint64_t accesses, io::OutputFile* file);

 private:
  uint64_t SizeOf(uint32_t layer) const {
    return options_.unit_bytes ? info_.layer_unit_bytes[layer] : 1;
  }
  void Tell(uint64_t done) const {
    if (options_.progress && (done % 1024 == 0 || done == info_.rows)) {
      options_.progress(done, info_.rows);
    }
  }
  // each(layer, expert) for the row's accesses, in order.
  template <typename Each>
  Status ForRow(uint64_t row, Each each);
  Status ReadBlock(uint64_t first, uint64_t end, std::vector<std::pair<uint32_t, uint32_t>>* block);

  TraceFile& trace_;
  const TraceInfo& info_;
  const ExportOptions& options_;
  std::vector<int64_t> next_;  // of each unit: its next access, counted from 1; -1: none
};

Status Exporter::Check() const {
  if (options_.unit_bytes && info_.layer_unit_bytes.empty()) {
    return FailedPreconditionError(
        "the trace does not state its units' bytes: leave the sizes at 1");
  }
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (options_.format == ExportFormat::kAccessCsv) return Status();
  for (uint32_t layer = 0; layer < info_.layers; ++layer) {
    if (SizeOf(layer) > kMax) {
      return OutOfRangeError("layer " + std::to_string(layer) + ": units of " +
                             std::to_string(SizeOf(layer)) + " bytes: the format has 32 bits");
    }
  }
  if (info_.rows > kMax) return OutOfRangeError("more rows than the format's 32 bits of time");
  return Status();
}

template <typename Each>
Status Exporter::ForRow(uint64_t row, Each each) {
  BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> ids, trace_.Experts(row));
  for (uint32_t layer = 0; layer < info_.layers; ++layer) {
    for (const int32_t id : ids.subspan(size_t{layer} * info_.top_k, info_.top_k)) {
      if (id != kNoExpert) each(layer, static_cast<uint32_t>(id));
    }
  }
  return Status();
}

Result<ExportReport> Exporter::Count() {
  ExportReport report;
  std::vector<bool> seen(next_.size());
  for (uint64_t row = 0; row < info_.rows; ++row) {
    BERTH_RETURN_IF_ERROR(ForRow(row, [&](uint32_t layer, uint32_t expert) {
      ++report.accesses;
      const uint64_t unit = uint64_t{layer} * info_.experts + expert;
      report.objects += !seen[unit];
      seen[unit] = true;
    }));
    Tell(row + 1);
  }
  return report;
}

Status Exporter::WriteText(io::OutputFile* file) {
  const bool access = options_.format == ExportFormat::kAccessCsv;
  std::string text = access ? "layer,expert\n" : "time,object,size\n";
  uint64_t offset = 0;
  for (uint64_t row = 0; row < info_.rows; ++row) {
    const std::string time = std::to_string(row) + ",";
    BERTH_RETURN_IF_ERROR(ForRow(row, [&](uint32_t layer, uint32_t expert) {
      if (access) {
        // As imports read them: block numbers.
        const uint32_t block = info_.layer_ids.empty() ? layer : info_.layer_ids[layer];
        text += std::to_string(block) + "," + std::to_string(expert) + "\n";
      } else {
        text += time + std::to_string(uint64_t{layer} * info_.experts + expert) + "," +
                std::to_string(SizeOf(layer)) + "\n";
      }
    }));
    if (text.size() >= kFlushBytes || row + 1 == info_.rows) {
      BERTH_RETURN_IF_ERROR(file->WriteAt(offset, std::as_bytes(std::span<const char>(text))));
      offset += text.size();
      text.clear();
    }
    Tell(row + 1);
  }
  return Status();
}

// Forward, as windows of the trace are read.
Status Exporter::ReadBlock(uint64_t first, uint64_t end,
                           std::vector<std::pair<uint32_t, uint32_t>>* block) {
  block->clear();
  for (uint64_t row = first; row < end; ++row) {
    BERTH_RETURN_IF_ERROR(ForRow(row, [&](uint32_t layer, uint32_t expert) {
      block->push_back({static_cast<uint32_t>(row),
                        static_cast<uint32_t>(uint64_t{layer} * info_.experts + expert)});
    }));
  }
  return Status();
}

// Backward over blocks of rows: what comes next is known when an access is met.
Status Exporter::WriteOracle(uint64_t accesses, io::OutputFile* file) {
  const uint64_t row_entries = uint64_t{info_.layers} * info_.top_k;
  const uint64_t block_rows = std::max<uint64_t>(1, kBlockAccesses / row_entries);
  std::vector<std::pair<uint32_t, uint32_t>> block;  // row, unit
  std::vector<std::byte> bytes;
  uint64_t left = accesses;  // before the block's end
  for (uint64_t end = info_.rows; end > 0;) {
    const uint64_t first = end > block_rows ? end - block_rows : 0;
    BERTH_RETURN_IF_ERROR(ReadBlock(first, end, &block));
    bytes.resize(block.size() * kOracleRecordBytes);
    for (size_t i = block.size(); i-- > 0;) {
      const auto [row, unit] = block[i];
      std::byte* record = bytes.data() + i * kOracleRecordBytes;
      PutLittleEndian(row, 4, record);
      PutLittleEndian(unit, 8, record + 4);
      PutLittleEndian(SizeOf(unit / info_.experts), 4, record + 12);
      PutLittleEndian(static_cast<uint64_t>(next_[unit]), 8, record + 16);
      next_[unit] = static_cast<int64_t>(left - block.size() + i + 1);
    }
    left -= block.size();
    BERTH_RETURN_IF_ERROR(file->WriteAt(left * kOracleRecordBytes, bytes));
    end = first;
    if (options_.progress) options_.progress(info_.rows - end, info_.rows);
  }
  return Status();
}

}  // namespace

Result<ExportReport> ExportTrace(TraceFile* trace, const ExportOptions& options,
                                 const std::string& path) {
  Exporter exporter(trace, options);
  BERTH_RETURN_IF_ERROR(exporter.Check());
  BERTH_ASSIGN_OR_RETURN(const ExportReport report, exporter.Count());
  if (report.accesses == 0) return InvalidArgumentError("the trace routes to nobody");
  const bool oracle = options.format == ExportFormat::kOracleGeneral;
  // Text is not reserved: nobody knows its size before it is written.
  BERTH_ASSIGN_OR_RETURN(
      const std::unique_ptr<io::OutputFile> file,
      io::OutputFile::Create(path, oracle ? report.accesses * kOracleRecordBytes : 0,
                             {.replace = options.replace}));
  BERTH_RETURN_IF_ERROR(oracle ? exporter.WriteOracle(report.accesses, file.get())
                               : exporter.WriteText(file.get()));
  BERTH_RETURN_IF_ERROR(file->Commit());
  return report;
}

}  // namespace berth
