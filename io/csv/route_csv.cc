#include "io/csv/route_csv.h"

#include <array>
#include <cmath>
#include <utility>

#include "io/csv/numbers.h"

namespace berth::io {
namespace {

constexpr std::string_view kVersion = "# route_trace v1";
constexpr std::string_view kColumns =
    "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes";
// More than any model has; keeps a hostile header from sizing a table.
constexpr uint32_t kMaxLayers = 1u << 16;

// The text between "<key>=" and the next " <other key>=" or the end; false where there is none.
// Values may hold spaces (paths do), so the next word with a '=' ends them.
bool Value(std::string_view text, std::string_view key, std::string_view* value) {
  const std::string wanted = std::string(key) + "=";
  size_t at = 0;
  while ((at = text.find(wanted, at)) != std::string_view::npos) {
    if (at == 0 || text[at - 1] == ' ') break;
    ++at;
  }
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + wanted.size());
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    const size_t space = text.rfind(' ', equals);
    if (space == std::string_view::npos) return false;
    text = text.substr(0, space);
  }
  *value = text;
  return true;
}

template <typename T>
bool NumberValue(std::string_view text, std::string_view key, T* number) {
  std::string_view value;
  return Value(text, key, &value) && ParseNumber(value, number);
}

}  // namespace

Result<std::unique_ptr<RouteCsv>> RouteCsv::Open(std::unique_ptr<ByteSource> source) {
  std::unique_ptr<RouteCsv> csv(new RouteCsv(std::move(source)));
  BERTH_RETURN_IF_ERROR(csv->ReadHeader());
  return csv;
}

Status RouteCsv::ReadHeader() {
  std::string_view line;
  BERTH_ASSIGN_OR_RETURN(bool more, lines_.Next(&line));
  if (!more || line != kVersion) return lines_.Error("expected '# route_trace v1'");
  while (true) {
    BERTH_ASSIGN_OR_RETURN(more, lines_.Next(&line));
    if (!more) return lines_.Error("ends before its line of column names");
    if (!line.starts_with("# ")) break;
    BERTH_RETURN_IF_ERROR(ReadComment(line.substr(2)));
  }
  if (line != kColumns) {
    return lines_.Error("expected the columns '" + std::string(kColumns) + "'");
  }
  if (header_.layers.empty()) return lines_.Error("no '# model=' line stands above");
  return Status();
}

Status RouteCsv::ReadComment(std::string_view text) {
  if (text.starts_with("model=")) return ReadModel(text);
  if (text.starts_with("layer=")) return ReadLayer(text);
  return Status();
}

Status RouteCsv::ReadModel(std::string_view text) {
  if (!header_.layers.empty()) return lines_.Error("a second '# model=' line");
  uint32_t layers = 0;
  std::string_view model;
  std::string_view architecture;
  if (!Value(text, "model", &model) || !Value(text, "arch", &architecture) ||
      !NumberValue(text, "n_layer", &layers) || !NumberValue(text, "n_expert", &header_.experts) ||
      !NumberValue(text, "n_expert_used", &header_.top_k)) {
    return lines_.Error("expected model=, arch=, n_layer=, n_expert= and n_expert_used=");
  }
  if (layers == 0 || layers > kMaxLayers || header_.experts == 0 || header_.top_k == 0 ||
      header_.top_k > header_.experts) {
    return lines_.Error("n_layer, n_expert and n_expert_used contradict each other");
  }
  header_.model = std::string(model);
  header_.architecture = std::string(architecture);
  header_.layers.resize(layers);
  return Status();
}

Status RouteCsv::ReadLayer(std::string_view text) {
  uint32_t index = 0;
  RouteLayer layer;
  layer.stated = true;
  if (!NumberValue(text, "layer", &index) ||
      !NumberValue(text, "expert_bytes", &layer.expert_bytes) ||
      !NumberValue(text, "dense_bytes", &layer.dense_bytes)) {
    return lines_.Error("expected layer=, expert_bytes= and dense_bytes=");
  }
  if (index >= header_.layers.size()) {
    return lines_.Error("layer " + std::to_string(index) + ", but n_layer is " +
                        std::to_string(header_.layers.size()));
  }
  if (header_.layers[index].stated) {
    return lines_.Error("layer " + std::to_string(index) + " stands twice");
  }
  header_.layers[index] = layer;
  return Status();
}

Result<bool> RouteCsv::Next(RouteRecord* record) {
  std::string_view line;
  BERTH_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
  if (!more) return false;
  std::array<std::string_view, 9> fields;
  if (!SplitFields(line, fields)) return lines_.Error("expected 9 columns");
  if (!ParseNumber(fields[0], &record->turn) || !ParseNumber(fields[1], &record->phase) ||
      !ParseNumber(fields[2], &record->step) || !ParseNumber(fields[3], &record->layer) ||
      !ParseNumber(fields[4], &record->slot) || !ParseNumber(fields[5], &record->expert) ||
      !ParseNumber(fields[6], &record->weight) || !ParseNumber(fields[7], &record->residency) ||
      !ParseNumber(fields[8], &record->read_bytes) || !std::isfinite(record->weight)) {
    return lines_.Error("a column is not the number it must be");
  }
  const std::pair<uint32_t, uint64_t> limits[] = {{record->layer, header_.layers.size()},
                                                  {record->slot, header_.top_k},
                                                  {record->expert, header_.experts}};
  const char* const names[] = {"layer", "slot", "expert"};
  for (size_t i = 0; i < 3; ++i) {
    if (limits[i].first < limits[i].second) continue;
    return OutOfRangeError(
        std::string(lines_
                        .Error(std::string(names[i]) + " " + std::to_string(limits[i].first) +
                               ", but the header has " + std::to_string(limits[i].second))
                        .message()));
  }
  return true;
}

}  // namespace berth::io
