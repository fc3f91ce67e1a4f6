#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/trace/column.h"
#include "runtime/trace/info.h"
#include "runtime/trace/metadata.h"
#include "runtime/trace/trace.h"

namespace berth {
namespace {

using io::SafetensorsTensor;
using io::SafetensorsType;

constexpr std::array<const char*, 3> kIdColumns = {"experts", "predicted_1_ahead",
                                                   "predicted_2_ahead"};
constexpr std::array<std::string_view, 7> kTensorNames = {
    "experts", "request_rows",      "router_weights",   "pass_rows",
    "stream",  "predicted_1_ahead", "predicted_2_ahead"};

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

class SafetensorsTrace final : public TraceFile {
 public:
  explicit SafetensorsTrace(io::SafetensorsFile file) : file_(std::move(file)) {}

  // Everything that can be known without reading the rows.
  Status Load();

  Result<std::span<const int32_t>> Experts(uint64_t row) override { return Ids(0, row); }
  Result<std::span<const int32_t>> Predicted(uint64_t row, uint32_t ahead) override {
    if (ahead == 0 || ahead > info_.predictions_ahead) {
      return FailedPreconditionError(file_.name() + ": has no tensor 'predicted_" +
                                     std::to_string(ahead) + "_ahead'");
    }
    return Ids(ahead, row);
  }
  Result<std::span<const float>> Weights(uint64_t row) override;
  uint64_t window_bytes() const override;

 private:
  struct IdColumn {
    trace::RowWindow window;
    std::vector<int32_t> row;
  };

  Status CheckNames() const;
  Result<trace::RowWindow> Window(const SafetensorsTensor& tensor);
  Result<std::vector<uint32_t>> Counts(const SafetensorsTensor& tensor, uint32_t least) const;
  Status LoadColumns();
  Status LoadRequests();
  Result<std::span<const int32_t>> Ids(uint32_t column, uint64_t row);
  Status BadId(uint32_t column, uint64_t row, size_t entry, int32_t id) const;

  const io::SafetensorsFile file_;
  uint64_t row_entries_ = 0;  // layers * top_k
  int64_t none_ = std::numeric_limits<int64_t>::min();
  std::array<IdColumn, kIdColumns.size()> ids_;
  trace::RowWindow weight_window_;
  std::vector<float> weight_row_;
};

Status SafetensorsTrace::Load() {
  BERTH_ASSIGN_OR_RETURN(trace::Metadata metadata, trace::ReadMetadata(file_.metadata()));
  info_.layers = metadata.layers;
  info_.experts = metadata.experts;
  info_.top_k = metadata.top_k;
  info_.layer_ids = std::move(metadata.layer_ids);
  info_.layer_unit_bytes = std::move(metadata.layer_unit_bytes);
  info_.request_labels = std::move(metadata.request_labels);
  info_.model = std::move(metadata.model);
  info_.source = std::move(metadata.source);
  if (metadata.none) none_ = *metadata.none;
  BERTH_RETURN_IF_ERROR(trace::CheckTraceShape(info_.layers, info_.experts, info_.top_k));
  row_entries_ = uint64_t{info_.layers} * info_.top_k;
  BERTH_RETURN_IF_ERROR(CheckNames());
  BERTH_RETURN_IF_ERROR(LoadColumns());
  BERTH_RETURN_IF_ERROR(LoadRequests());
  return trace::CheckTraceInfo(info_);
}

// A misspelt optional tensor would be ignored silently otherwise.
Status SafetensorsTrace::CheckNames() const {
  for (const SafetensorsTensor& tensor : file_.tensors()) {
    if (std::find(kTensorNames.begin(), kTensorNames.end(), tensor.name) == kTensorNames.end()) {
      return InvalidArgumentError("tensor '" + tensor.name + "' is not part of " +
                                  trace::kFormatName + DidYouMean(tensor.name, kTensorNames));
    }
  }
  return Status();
}

Result<trace::RowWindow> SafetensorsTrace::Window(const SafetensorsTensor& tensor) {
  const std::vector<uint64_t> expected = {info_.rows, info_.layers, info_.top_k};
  if (tensor.shape != expected) {
    return InvalidArgumentError("tensor '" + tensor.name + "': expected the shape " +
                                ShapeText(expected) + " (rows, layers, top_k), found " +
                                ShapeText(tensor.shape));
  }
  return trace::RowWindow(&file_, &tensor, info_.rows,
                          row_entries_ * io::SafetensorsTypeBytes(tensor.type));
}

Status SafetensorsTrace::LoadColumns() {
  const SafetensorsTensor* experts = file_.Find("experts");
  if (experts == nullptr) return InvalidArgumentError("tensor 'experts' is missing");
  if (experts->shape.empty() || experts->shape[0] == 0) {
    return InvalidArgumentError("tensor 'experts' has no rows");
  }
  info_.rows = experts->shape[0];
  for (uint32_t i = 0; i < kIdColumns.size(); ++i) {
    const SafetensorsTensor* tensor = file_.Find(kIdColumns[i]);
    if (tensor == nullptr) continue;
    if (!trace::IsIdType(tensor->type)) {
      return InvalidArgumentError("tensor '" + tensor->name +
                                  "': expected U8, U16, I16 or I32, found " +
                                  std::string(io::SafetensorsTypeName(tensor->type)));
    }
    BERTH_ASSIGN_OR_RETURN(ids_[i].window, Window(*tensor));
    ids_[i].row.resize(row_entries_);
    if (i != info_.predictions_ahead + (i > 0 ? 1 : 0)) {
      return InvalidArgumentError("tensor 'predicted_2_ahead' stands without 'predicted_1_ahead'");
    }
    info_.predictions_ahead = i;
  }
  if (const SafetensorsTensor* weights = file_.Find("router_weights")) {
    if (!trace::IsWeightType(weights->type)) {
      return InvalidArgumentError("tensor 'router_weights': expected F16 or F32, found " +
                                  std::string(io::SafetensorsTypeName(weights->type)));
    }
    BERTH_ASSIGN_OR_RETURN(weight_window_, Window(*weights));
    weight_row_.resize(row_entries_);
    info_.has_router_weights = true;
  }
  return Status();
}

// A one-dimensional I32 tensor whose values are at least `least`.
Result<std::vector<uint32_t>> SafetensorsTrace::Counts(const SafetensorsTensor& tensor,
                                                       uint32_t least) const {
  if (tensor.type != SafetensorsType::kI32 || tensor.shape.size() != 1) {
    return InvalidArgumentError("tensor '" + tensor.name + "': expected I32 with one dimension, " +
                                "found " + std::string(io::SafetensorsTypeName(tensor.type)) + " " +
                                ShapeText(tensor.shape));
  }
  std::vector<int32_t> values(tensor.shape[0]);
  BERTH_RETURN_IF_ERROR(file_.Read(tensor, 0, std::as_writable_bytes(std::span(values))));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < static_cast<int64_t>(least)) {
      return InvalidArgumentError("tensor '" + tensor.name + "' has " + std::to_string(values[i]) +
                                  " at " + std::to_string(i) + "; at least " +
                                  std::to_string(least) + " is allowed");
    }
  }
  return std::vector<uint32_t>(values.begin(), values.end());
}

Status SafetensorsTrace::LoadRequests() {
  const SafetensorsTensor* requests = file_.Find("request_rows");
  if (requests == nullptr) return InvalidArgumentError("tensor 'request_rows' is missing");
  BERTH_ASSIGN_OR_RETURN(info_.request_rows, Counts(*requests, 1));
  if (const SafetensorsTensor* passes = file_.Find("pass_rows")) {
    BERTH_ASSIGN_OR_RETURN(info_.pass_rows, Counts(*passes, 1));
  }
  if (const SafetensorsTensor* streams = file_.Find("stream")) {
    BERTH_ASSIGN_OR_RETURN(info_.streams, Counts(*streams, 0));
  }
  return Status();
}

Status SafetensorsTrace::BadId(uint32_t column, uint64_t row, size_t entry, int32_t id) const {
  return trace::IdOutOfRange(info_, row, entry, id)
      .Annotate(file_.name() + ": tensor '" + kIdColumns[column] + "'");
}

Result<std::span<const int32_t>> SafetensorsTrace::Ids(uint32_t column, uint64_t row) {
  IdColumn& ids = ids_[column];
  BERTH_ASSIGN_OR_RETURN(std::span<const std::byte> bytes, ids.window.Row(row));
  trace::WidenIds(ids.window.tensor().type, bytes, ids.row);
  for (size_t i = 0; i < ids.row.size(); ++i) {
    int32_t& id = ids.row[i];
    if (id == none_) {
      id = kNoExpert;
    } else if (id < 0 || static_cast<uint32_t>(id) >= info_.experts) {
      return BadId(column, row, i, id);
    }
  }
  return std::span<const int32_t>(ids.row);
}

Result<std::span<const float>> SafetensorsTrace::Weights(uint64_t row) {
  if (!info_.has_router_weights) {
    return FailedPreconditionError(file_.name() + ": has no tensor 'router_weights'");
  }
  BERTH_ASSIGN_OR_RETURN(std::span<const std::byte> bytes, weight_window_.Row(row));
  trace::WidenWeights(weight_window_.tensor().type, bytes, weight_row_);
  for (size_t i = 0; i < weight_row_.size(); ++i) {
    if (std::isfinite(weight_row_[i])) continue;
    return OutOfRangeError(file_.name() + ": tensor 'router_weights', row " + std::to_string(row) +
                           ", layer " + std::to_string(i / info_.top_k) + ": not a finite number");
  }
  return std::span<const float>(weight_row_);
}

uint64_t SafetensorsTrace::window_bytes() const {
  uint64_t bytes = weight_window_.bytes() + weight_row_.size() * sizeof(float);
  for (const IdColumn& column : ids_) {
    bytes += column.window.bytes() + column.row.size() * sizeof(int32_t);
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<TraceFile>> TraceFile::Open(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<io::FileSource> source, io::FileSource::Open(path));
  return Parse(std::move(source));
}

Result<std::unique_ptr<TraceFile>> TraceFile::Parse(std::unique_ptr<io::ByteSource> source) {
  BERTH_ASSIGN_OR_RETURN(io::SafetensorsFile file, io::SafetensorsFile::Parse(std::move(source)));
  const std::string name = file.name();
  auto trace = std::make_unique<SafetensorsTrace>(std::move(file));
  if (Status status = trace->Load(); !status.ok()) return status.Annotate(name);
  return std::unique_ptr<TraceFile>(std::move(trace));
}

}  // namespace berth
