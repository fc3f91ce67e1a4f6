#include "runtime/trace/trace_writer.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "berth/types.h"
#include "io/safetensors/writer.h"
#include "runtime/trace/info.h"

namespace berth {
namespace {

using io::SafetensorsDeclaration;
using io::SafetensorsType;

// Of each column; rows are short, writes should not be.
constexpr size_t kBufferBytes = 256u << 10;

// One [rows, layers, top_k] tensor on its way into the file.
struct Column {
  size_t tensor = 0;  // its place in the file
  uint64_t written_bytes = 0;
  std::vector<std::byte> buffer;
};

class SafetensorsTraceWriter final : public TraceWriter {
 public:
  explicit SafetensorsTraceWriter(const TraceInfo& info)
      : info_(info),
        ids_(trace::NarrowestIds(info.experts)),
        entries_(size_t{info.layers} * info.top_k) {}

  Status Open(const std::string& path, bool replace);
  Status Append(const TraceRow& row) override;
  Status Commit() override;

 private:
  std::vector<SafetensorsDeclaration> Declarations();
  Status WriteCounts(size_t tensor, const std::vector<uint32_t>& counts);
  Status CheckIds(const char* column, bool stated, std::span<const int32_t> ids) const;
  Status CheckWeights(std::span<const float> weights) const;
  void BufferIds(std::span<const int32_t> ids, Column* column) const;
  Status Flush(Column* column, size_t least_bytes);

  const TraceInfo info_;
  const trace::IdFormat ids_;
  const size_t entries_;  // of a row: layers * top_k
  std::string path_;
  uint64_t rows_ = 0;
  Column experts_, weights_, predicted_1_, predicted_2_;
  std::unique_ptr<io::SafetensorsWriter> writer_;
};

std::vector<SafetensorsDeclaration> SafetensorsTraceWriter::Declarations() {
  std::vector<SafetensorsDeclaration> tensors;
  const auto counts = [&](const char* name, size_t size) {
    if (size > 0) tensors.push_back({name, SafetensorsType::kI32, {size}});
  };
  const auto column = [&](const char* name, SafetensorsType type, Column* to) {
    to->tensor = tensors.size();
    tensors.push_back({name, type, {info_.rows, info_.layers, info_.top_k}});
  };
  counts("request_rows", info_.request_rows.size());
  counts("pass_rows", info_.pass_rows.size());
  counts("stream", info_.streams.size());
  // Wide types first: every tensor then starts at a multiple of its own width.
  if (info_.has_router_weights) column("router_weights", SafetensorsType::kF32, &weights_);
  column("experts", ids_.type, &experts_);
  if (info_.predictions_ahead >= 1) column("predicted_1_ahead", ids_.type, &predicted_1_);
  if (info_.predictions_ahead >= 2) column("predicted_2_ahead", ids_.type, &predicted_2_);
  return tensors;
}

Status SafetensorsTraceWriter::Open(const std::string& path, bool replace) {
  if (Status status = trace::CheckTraceInfo(info_); !status.ok()) return status.Annotate(path);
  path_ = path;
  const std::vector<SafetensorsDeclaration> tensors = Declarations();
  BERTH_ASSIGN_OR_RETURN(
      writer_, io::SafetensorsWriter::Create(
                   path, tensors, trace::WriteMetadata(trace::MetadataOf(info_, ids_.none)),
                   {.replace = replace}));
  size_t tensor = 0;
  for (const std::vector<uint32_t>* list :
       {&info_.request_rows, &info_.pass_rows, &info_.streams}) {
    if (!list->empty()) BERTH_RETURN_IF_ERROR(WriteCounts(tensor++, *list));
  }
  return Status();
}

// Checked to be below 2^31: as I32 they are the same bytes.
Status SafetensorsTraceWriter::WriteCounts(size_t tensor, const std::vector<uint32_t>& counts) {
  return writer_->WriteAt(tensor, 0, std::as_bytes(std::span(counts)));
}

Status SafetensorsTraceWriter::CheckIds(const char* column, bool stated,
                                        std::span<const int32_t> ids) const {
  if (ids.size() != (stated ? entries_ : 0)) {
    return InvalidArgumentError(path_ + ": row " + std::to_string(rows_) + " has " +
                                std::to_string(ids.size()) + " entries of '" + column + "', " +
                                std::to_string(stated ? entries_ : 0) + " were announced");
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNoExpert || (ids[i] >= 0 && static_cast<uint32_t>(ids[i]) < info_.experts)) {
      continue;
    }
    return trace::IdOutOfRange(info_, rows_, i, ids[i]).Annotate(path_ + ": '" + column + "'");
  }
  return Status();
}

Status SafetensorsTraceWriter::CheckWeights(std::span<const float> weights) const {
  const size_t expected = info_.has_router_weights ? entries_ : 0;
  if (weights.size() != expected) {
    return InvalidArgumentError(path_ + ": row " + std::to_string(rows_) + " has " +
                                std::to_string(weights.size()) + " router weights, " +
                                std::to_string(expected) + " were announced");
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights[i])) continue;
    return OutOfRangeError(path_ + ": 'router_weights', row " + std::to_string(rows_) + ", layer " +
                           std::to_string(i / info_.top_k) + ": not a finite number");
  }
  return Status();
}

void SafetensorsTraceWriter::BufferIds(std::span<const int32_t> ids, Column* column) const {
  for (const int32_t each : ids) {
    const auto id = static_cast<uint32_t>(each == kNoExpert ? ids_.none : each);
    for (uint32_t b = 0; b < ids_.bytes; ++b) {
      column->buffer.push_back(static_cast<std::byte>(id >> (8 * b)));
    }
  }
}

Status SafetensorsTraceWriter::Flush(Column* column, size_t least_bytes) {
  if (column->buffer.empty() || column->buffer.size() < least_bytes) return Status();
  BERTH_RETURN_IF_ERROR(writer_->WriteAt(column->tensor, column->written_bytes, column->buffer));
  column->written_bytes += column->buffer.size();
  column->buffer.clear();
  return Status();
}

Status SafetensorsTraceWriter::Append(const TraceRow& row) {
  if (rows_ == info_.rows) {
    return FailedPreconditionError(path_ + ": more rows than the " + std::to_string(rows_) +
                                   " that were announced");
  }
  BERTH_RETURN_IF_ERROR(CheckIds("experts", true, row.experts));
  BERTH_RETURN_IF_ERROR(CheckWeights(row.weights));
  BERTH_RETURN_IF_ERROR(
      CheckIds("predicted_1_ahead", info_.predictions_ahead >= 1, row.predicted_1_ahead));
  BERTH_RETURN_IF_ERROR(
      CheckIds("predicted_2_ahead", info_.predictions_ahead >= 2, row.predicted_2_ahead));
  BufferIds(row.experts, &experts_);
  BufferIds(row.predicted_1_ahead, &predicted_1_);
  BufferIds(row.predicted_2_ahead, &predicted_2_);
  const auto weights = std::as_bytes(row.weights);
  weights_.buffer.insert(weights_.buffer.end(), weights.begin(), weights.end());
  ++rows_;
  for (Column* column : {&experts_, &weights_, &predicted_1_, &predicted_2_}) {
    BERTH_RETURN_IF_ERROR(Flush(column, kBufferBytes));
  }
  return Status();
}

Status SafetensorsTraceWriter::Commit() {
  if (rows_ != info_.rows) {
    return FailedPreconditionError(path_ + ": " + std::to_string(rows_) + " of " +
                                   std::to_string(info_.rows) + " rows were written");
  }
  for (Column* column : {&experts_, &weights_, &predicted_1_, &predicted_2_}) {
    BERTH_RETURN_IF_ERROR(Flush(column, 0));
  }
  return writer_->Commit();
}

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(const std::string& path,
                                                         const TraceInfo& info, bool replace) {
  auto writer = std::make_unique<SafetensorsTraceWriter>(info);
  BERTH_RETURN_IF_ERROR(writer->Open(path, replace));
  return std::unique_ptr<TraceWriter>(std::move(writer));
}

}  // namespace berth
