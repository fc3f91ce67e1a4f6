#include "runtime/trace/cut.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "io/file/output_file.h"
#include "runtime/trace/trace.h"
#include "runtime/trace/trace_writer.h"

namespace berth {
namespace {

class Cutter {
 public:
  Cutter(TraceFile* trace, const TraceCut& cut) : trace_(*trace), info_(trace->info()), cut_(cut) {}

  Status Plan();
  Status Write(const std::string& destination);

 private:
  uint64_t first_row(const TracePart& part) const { return starts_[part.request] + part.first; }
  Status PlanPart(const TracePart& part);
  void PlanPasses();
  void PlanLayers();
  Status CopyRow(uint64_t row, TraceWriter* writer);

  TraceFile& trace_;
  const TraceInfo& info_;
  const TraceCut& cut_;
  std::vector<uint64_t> starts_;  // first row of each request
  TraceInfo piece_;
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
  piece_.experts = info_.experts;
  piece_.top_k = info_.top_k;
  piece_.model = info_.model;
  piece_.source = info_.source;
  piece_.has_router_weights = cut_.router_weights && info_.has_router_weights;
  piece_.predictions_ahead = cut_.predictions ? info_.predictions_ahead : 0;
  for (const TracePart& part : cut_.parts) BERTH_RETURN_IF_ERROR(PlanPart(part));
  PlanPasses();
  PlanLayers();
  return Status();
}

Status Cutter::PlanPart(const TracePart& part) {
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
  piece_.rows += part.rows;
  piece_.request_rows.push_back(part.rows);
  if (!info_.streams.empty()) piece_.streams.push_back(info_.streams[part.request]);
  if (!info_.request_labels.empty()) {
    piece_.request_labels.push_back(info_.request_labels[part.request]);
  }
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
      if (from < to) piece_.pass_rows.push_back(static_cast<uint32_t>(to - from));
      pass_begin = pass_end;
    }
  }
}

void Cutter::PlanLayers() {
  piece_.layers = cut_.end_layer - cut_.first_layer;
  for (uint32_t layer = cut_.first_layer; layer < cut_.end_layer; ++layer) {
    piece_.layer_ids.push_back(info_.layer_ids.empty() ? layer : info_.layer_ids[layer]);
    if (info_.layer_unit_bytes.empty()) continue;
    piece_.layer_unit_bytes.push_back(info_.layer_unit_bytes[layer]);
  }
}

Status Cutter::CopyRow(uint64_t row, TraceWriter* writer) {
  const size_t first = size_t{cut_.first_layer} * info_.top_k;
  const size_t count = size_t{piece_.layers} * info_.top_k;
  TraceRow copy;
  BERTH_ASSIGN_OR_RETURN(copy.experts, trace_.Experts(row));
  copy.experts = copy.experts.subspan(first, count);
  if (piece_.has_router_weights) {
    BERTH_ASSIGN_OR_RETURN(copy.weights, trace_.Weights(row));
    copy.weights = copy.weights.subspan(first, count);
  }
  if (piece_.predictions_ahead >= 1) {
    BERTH_ASSIGN_OR_RETURN(copy.predicted_1_ahead, trace_.Predicted(row, 1));
    copy.predicted_1_ahead = copy.predicted_1_ahead.subspan(first, count);
  }
  if (piece_.predictions_ahead >= 2) {
    BERTH_ASSIGN_OR_RETURN(copy.predicted_2_ahead, trace_.Predicted(row, 2));
    copy.predicted_2_ahead = copy.predicted_2_ahead.subspan(first, count);
  }
  return writer->Append(copy);
}

Status Cutter::Write(const std::string& destination) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<TraceWriter> writer,
                         TraceWriter::Create(destination, piece_, cut_.replace));
  for (const TracePart& part : cut_.parts) {
    for (uint64_t row = first_row(part); row < first_row(part) + part.rows; ++row) {
      BERTH_RETURN_IF_ERROR(CopyRow(row, writer.get()));
    }
  }
  return writer->Commit();
}

}  // namespace

Status CutTrace(const std::string& source, const TraceCut& cut, const std::string& destination) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<TraceFile> trace, TraceFile::Open(source));
  const std::string inputs[] = {source};
  BERTH_RETURN_IF_ERROR(io::CheckIsNoInput(destination, inputs, "the trace to cut"));
  Cutter cutter(trace.get(), cut);
  if (Status status = cutter.Plan(); !status.ok()) return status.Annotate(source);
  return cutter.Write(destination);
}

}  // namespace berth
