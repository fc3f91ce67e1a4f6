#include "runtime/trace/cut.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "berth/types.h"
#include "io/safetensors/writer.h"
#include "runtime/trace/metadata.h"
#include "runtime/trace/trace.h"

namespace berth {
namespace {

using io::SafetensorsDeclaration;
using io::SafetensorsType;

// How ids are written: the narrowest unsigned type whose last value is no expert's id.
struct IdFormat {
  SafetensorsType type;
  uint32_t bytes;
  int32_t none;
};
IdFormat NarrowestIds(uint32_t experts) {
  if (experts <= 0xff) return {SafetensorsType::kU8, 1, 0xff};
  if (experts <= 0xffff) return {SafetensorsType::kU16, 2, 0xffff};
  return {SafetensorsType::kI32, 4, kNoExpert};
}

class Cutter {
 public:
  Cutter(TraceFile* trace, const TraceCut& cut)
      : trace_(*trace), info_(trace->info()), cut_(cut), ids_(NarrowestIds(info_.experts)) {}

  Status Plan();
  Status Write(const std::string& destination);

 private:
  uint64_t first_row(const TracePart& part) const { return starts_[part.request] + part.first; }
  void PlanPasses();
  std::vector<SafetensorsDeclaration> Declarations() const;
  trace::Metadata Metadata() const;
  Status AppendCounts(const std::vector<int32_t>& values);
  // `row`: a method of the trace that gives a row of ids.
  template <typename RowFunction>
  Status AppendIds(RowFunction row);
  Status AppendWeights();

  TraceFile& trace_;
  const TraceInfo& info_;
  const TraceCut& cut_;
  const IdFormat ids_;
  std::vector<uint64_t> starts_;  // first row of each request
  uint64_t rows_ = 0;
  std::vector<int32_t> request_rows_;
  std::vector<int32_t> pass_rows_;
  std::vector<int32_t> streams_;
  std::unique_ptr<io::SafetensorsWriter> writer_;
};

Status Cutter::Plan() {
  if (cut_.first_layer >= cut_.end_layer || cut_.end_layer > info_.layers) {
    return OutOfRangeError("layers " + std::to_string(cut_.first_layer) + " to " +
                           std::to_string(cut_.end_layer) + ": the trace has " +
                           std::to_string(info_.layers));
  }
  if (cut_.parts.empty()) return InvalidArgumentError("no rows are asked for");
  uint64_t start = 0;
  for (uint32_t rows : info_.request_rows) {
    starts_.push_back(start);
    start += rows;
  }
  for (const TracePart& part : cut_.parts) {
    if (part.request >= info_.request_rows.size()) {
      return OutOfRangeError("request " + std::to_string(part.request) + ": the trace has " +
                             std::to_string(info_.request_rows.size()));
    }
    const uint32_t rows = info_.request_rows[part.request];
    if (part.rows == 0 || part.first >= rows || part.rows > rows - part.first) {
      return OutOfRangeError("rows " + std::to_string(part.first) + " + " +
                             std::to_string(part.rows) + " of request " +
                             std::to_string(part.request) + ": it has " + std::to_string(rows));
    }
    rows_ += part.rows;
    request_rows_.push_back(static_cast<int32_t>(part.rows));
    if (!info_.streams.empty()) {
      streams_.push_back(static_cast<int32_t>(info_.streams[part.request]));
    }
  }
  PlanPasses();
  return Status();
}

// Rows of one old pass that follow each other are one new pass, within a part.
void Cutter::PlanPasses() {
  if (info_.pass_rows.empty()) return;
  for (const TracePart& part : cut_.parts) {
    const uint64_t begin = first_row(part);
    const uint64_t end = begin + part.rows;
    uint64_t pass_begin = 0;
    for (uint32_t rows : info_.pass_rows) {
      const uint64_t pass_end = pass_begin + rows;
      const uint64_t from = std::max(begin, pass_begin);
      const uint64_t to = std::min(end, pass_end);
      if (from < to) pass_rows_.push_back(static_cast<int32_t>(to - from));
      pass_begin = pass_end;
    }
  }
}

std::vector<SafetensorsDeclaration> Cutter::Declarations() const {
  const std::vector<uint64_t> shape = {rows_, cut_.end_layer - cut_.first_layer, info_.top_k};
  std::vector<SafetensorsDeclaration> tensors;
  tensors.push_back({"request_rows", SafetensorsType::kI32, {request_rows_.size()}});
  if (!pass_rows_.empty()) {
    tensors.push_back({"pass_rows", SafetensorsType::kI32, {pass_rows_.size()}});
  }
  if (!streams_.empty()) tensors.push_back({"stream", SafetensorsType::kI32, {streams_.size()}});
  // Wide types first: every tensor then starts at a multiple of its own width.
  if (cut_.router_weights && info_.has_router_weights) {
    tensors.push_back({"router_weights", SafetensorsType::kF32, shape});
  }
  tensors.push_back({"experts", ids_.type, shape});
  if (cut_.predictions) {
    for (uint32_t ahead = 1; ahead <= info_.predictions_ahead; ++ahead) {
      tensors.push_back({"predicted_" + std::to_string(ahead) + "_ahead", ids_.type, shape});
    }
  }
  return tensors;
}

trace::Metadata Cutter::Metadata() const {
  trace::Metadata metadata;
  metadata.layers = cut_.end_layer - cut_.first_layer;
  metadata.experts = info_.experts;
  metadata.top_k = info_.top_k;
  metadata.none = ids_.none;
  for (uint32_t layer = cut_.first_layer; layer < cut_.end_layer; ++layer) {
    metadata.layer_ids.push_back(info_.layer_ids.empty() ? layer : info_.layer_ids[layer]);
  }
  if (!info_.request_labels.empty()) {
    for (const TracePart& part : cut_.parts) {
      metadata.request_labels.push_back(info_.request_labels[part.request]);
    }
  }
  metadata.model = info_.model;
  metadata.source = info_.source;
  return metadata;
}

Status Cutter::AppendCounts(const std::vector<int32_t>& values) {
  return writer_->Append(std::as_bytes(std::span<const int32_t>(values)));
}

template <typename RowFunction>
Status Cutter::AppendIds(RowFunction row_function) {
  const size_t first = size_t{cut_.first_layer} * info_.top_k;
  const size_t count = size_t{cut_.end_layer - cut_.first_layer} * info_.top_k;
  std::vector<std::byte> bytes(count * ids_.bytes);
  for (const TracePart& part : cut_.parts) {
    for (uint64_t row = first_row(part); row < first_row(part) + part.rows; ++row) {
      BERTH_ASSIGN_OR_RETURN(std::span<const int32_t> ids, row_function(row));
      for (size_t i = 0; i < count; ++i) {
        const int32_t id = ids[first + i] == kNoExpert ? ids_.none : ids[first + i];
        for (uint32_t b = 0; b < ids_.bytes; ++b) {
          bytes[i * ids_.bytes + b] = static_cast<std::byte>(static_cast<uint32_t>(id) >> (8 * b));
        }
      }
      BERTH_RETURN_IF_ERROR(writer_->Append(bytes));
    }
  }
  return Status();
}

Status Cutter::AppendWeights() {
  const size_t first = size_t{cut_.first_layer} * info_.top_k;
  const size_t count = size_t{cut_.end_layer - cut_.first_layer} * info_.top_k;
  for (const TracePart& part : cut_.parts) {
    for (uint64_t row = first_row(part); row < first_row(part) + part.rows; ++row) {
      BERTH_ASSIGN_OR_RETURN(std::span<const float> weights, trace_.Weights(row));
      BERTH_RETURN_IF_ERROR(writer_->Append(std::as_bytes(weights.subspan(first, count))));
    }
  }
  return Status();
}

Status Cutter::Write(const std::string& destination) {
  BERTH_ASSIGN_OR_RETURN(writer_, io::SafetensorsWriter::Create(destination, Declarations(),
                                                                trace::WriteMetadata(Metadata())));
  BERTH_RETURN_IF_ERROR(AppendCounts(request_rows_));
  BERTH_RETURN_IF_ERROR(AppendCounts(pass_rows_));
  BERTH_RETURN_IF_ERROR(AppendCounts(streams_));
  if (cut_.router_weights && info_.has_router_weights) BERTH_RETURN_IF_ERROR(AppendWeights());
  BERTH_RETURN_IF_ERROR(AppendIds([this](uint64_t row) { return trace_.Experts(row); }));
  if (cut_.predictions) {
    for (uint32_t ahead = 1; ahead <= info_.predictions_ahead; ++ahead) {
      BERTH_RETURN_IF_ERROR(
          AppendIds([this, ahead](uint64_t row) { return trace_.Predicted(row, ahead); }));
    }
  }
  return writer_->Commit();
}

}  // namespace

Status CutTrace(const std::string& source, const TraceCut& cut, const std::string& destination) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<TraceFile> trace, TraceFile::Open(source));
  Cutter cutter(trace.get(), cut);
  if (Status status = cutter.Plan(); !status.ok()) return status.Annotate(source);
  return cutter.Write(destination);
}

}  // namespace berth
