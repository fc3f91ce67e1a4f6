// Route CSVs: a device's own record, with the bytes of each layer's experts. A turn is a request;
// a pass is what the device ran at once: the prompt, or one token.
#include "io/csv/route_csv.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "berth/types.h"
#include "runtime/trace/import/importer.h"
#include "runtime/trace/info.h"

namespace berth::trace {
namespace {

// Rows and experts of a pass that is held in memory: 768 MB.
constexpr uint64_t kMaxPassEntries = 64u << 20;

// One pass as it is collected. The file has a pass layer by layer, and each layer row by row.
struct Pass {
  uint32_t turn = 0;
  uint32_t phase = 0;
  uint32_t first_layer = 0;
  uint32_t last_layer = 0;
  size_t at = 0;  // of the layer at hand: the row that came last
  std::vector<uint32_t> steps;
  std::vector<int32_t> ids;  // [steps][layers][top_k]
  std::vector<float> weights;
};

class RouteCsvImporter final : public Importer {
 public:
  RouteCsvImporter(std::span<const std::string> files, const ImportOptions& options)
      : files_(files), options_(options) {}

  Status Scan(TraceInfo* info) override;
  Status Write(const TraceInfo& info, TraceWriter* writer) override;
  std::optional<DeviceRecord> device() const override { return device_; }

 private:
  Status TakeHeader(const std::string& path, const io::RouteHeader& header, TraceInfo* info);
  Result<size_t> RowOf(const io::RouteRecord& record, Pass* pass) const;
  Status Add(const io::RouteRecord& record, Pass* pass) const;
  void Count(const io::RouteRecord& record);
  // pass_done(pass) after each pass, new_turn before the first pass of a turn.
  template <typename Header, typename PassDone>
  Status ForPasses(const std::string& path, Header header, PassDone pass_done);

  const std::span<const std::string> files_;
  const ImportOptions& options_;
  std::vector<int32_t> layer_of_;  // block number -> layer; -1: no experts there
  uint32_t layers_ = 0;
  uint32_t top_k_ = 0;
  DeviceRecord device_;
  absl::flat_hash_set<uint64_t> seen_;  // units of the pass at hand
  bool counting_ = false;
  uint64_t lines_ = 0;
  uint64_t all_lines_ = 0;
};

Status RouteCsvImporter::TakeHeader(const std::string& path, const io::RouteHeader& header,
                                    TraceInfo* info) {
  TraceInfo stated;
  std::vector<int32_t> layer_of(header.layers.size(), -1);
  for (uint32_t block = 0; block < header.layers.size(); ++block) {
    if (!header.layers[block].stated || header.layers[block].expert_bytes == 0) continue;
    layer_of[block] = static_cast<int32_t>(stated.layer_unit_bytes.size());
    stated.layer_unit_bytes.push_back(header.layers[block].expert_bytes);
    stated.layer_ids.push_back(block);
  }
  if (stated.layer_unit_bytes.empty()) {
    return InvalidArgumentError(path + ": no '# layer=' line says what an expert weighs");
  }
  const std::pair<uint32_t, uint32_t> flags[] = {{options_.experts, header.experts},
                                                 {options_.top_k, header.top_k}};
  for (size_t i = 0; i < 2; ++i) {
    if (flags[i].first == 0 || flags[i].first == flags[i].second) continue;
    return InvalidArgumentError(path + ": its header says " + std::to_string(flags[i].second) +
                                (i == 0 ? " experts, --experts " : " experts a row, --top-k ") +
                                std::to_string(flags[i].first));
  }
  if (layers_ != 0 && (stated.layer_unit_bytes != info->layer_unit_bytes || layer_of != layer_of_ ||
                       header.experts != info->experts || header.top_k != info->top_k)) {
    return InvalidArgumentError(path + ": another model than " + files_.front() +
                                ": import it by itself");
  }
  layer_of_ = std::move(layer_of);
  info->layers = layers_ = static_cast<uint32_t>(stated.layer_unit_bytes.size());
  info->experts = header.experts;
  info->top_k = top_k_ = header.top_k;
  info->layer_unit_bytes = std::move(stated.layer_unit_bytes);
  info->layer_ids.clear();
  if (stated.layer_ids.back() + 1 != stated.layer_ids.size()) info->layer_ids = stated.layer_ids;
  // The path is that of the device; its last part is the name.
  info->model = header.model.substr(header.model.rfind('/') + 1) + " (" + header.architecture + ")";
  info->source = "route CSV";
  info->has_router_weights = true;
  return CheckTraceShape(info->layers, info->experts, info->top_k).Annotate(path);
}

// The first layer of a pass says which rows it has; later ones may lack some, but add none.
Result<size_t> RouteCsvImporter::RowOf(const io::RouteRecord& record, Pass* pass) const {
  if (!pass->steps.empty() && record.layer != pass->last_layer) pass->at = 0;
  while (pass->at < pass->steps.size() && pass->steps[pass->at] < record.step) ++pass->at;
  if (pass->at < pass->steps.size() && pass->steps[pass->at] == record.step) return pass->at;
  if (pass->steps.empty()) pass->first_layer = record.layer;
  if (record.layer != pass->first_layer || pass->at < pass->steps.size()) {
    return InvalidArgumentError("step " + std::to_string(record.step) +
                                " stands out of order: expected a pass layer by layer, and each "
                                "layer step by step");
  }
  const uint64_t entries = uint64_t{layers_} * top_k_;
  if ((pass->steps.size() + 1) * entries > kMaxPassEntries) {
    return ResourceExhaustedError("a pass of more than " + std::to_string(pass->steps.size()) +
                                  " rows: its memory is bounded");
  }
  pass->steps.push_back(record.step);
  pass->ids.resize(pass->ids.size() + entries, kNoExpert);
  pass->weights.resize(pass->weights.size() + entries, 0.0f);
  return pass->at;
}

Status RouteCsvImporter::Add(const io::RouteRecord& record, Pass* pass) const {
  const int32_t layer = layer_of_[record.layer];
  if (layer < 0) {
    return InvalidArgumentError("layer " + std::to_string(record.layer) +
                                ", but no '# layer=' line says what its experts weigh");
  }
  BERTH_ASSIGN_OR_RETURN(const size_t row, RowOf(record, pass));
  pass->last_layer = record.layer;
  const size_t at = (row * layers_ + static_cast<size_t>(layer)) * top_k_ + record.slot;
  if (pass->ids[at] != kNoExpert) {
    return InvalidArgumentError("slot " + std::to_string(record.slot) + " of step " +
                                std::to_string(record.step) + ", layer " +
                                std::to_string(record.layer) + " stands twice");
  }
  pass->ids[at] = static_cast<int32_t>(record.expert);
  pass->weights[at] = record.weight;
  return Status();
}

// A unit counts once a pass: the device looks it up once for all rows that want it.
void RouteCsvImporter::Count(const io::RouteRecord& record) {
  const bool hit = record.residency != 0;
  ++device_.entries;
  device_.entries_hit += hit;
  device_.read_bytes += record.read_bytes;
  if (!seen_.insert((uint64_t{record.layer} << 32) | record.expert).second) return;
  ++device_.distinct;
  device_.distinct_hit += hit;
  device_.speculative_hits += record.residency == 2;
  if (record.phase == 0) return;
  ++device_.decode_distinct;
  device_.decode_distinct_hit += hit;
}

template <typename Header, typename PassDone>
Status RouteCsvImporter::ForPasses(const std::string& path, Header header, PassDone pass_done) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<io::FileSource> source, io::FileSource::Open(path));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<io::RouteCsv> csv,
                         io::RouteCsv::Open(std::move(source)));
  BERTH_RETURN_IF_ERROR(header(csv->header()));
  Pass pass;
  while (true) {
    io::RouteRecord record;
    BERTH_ASSIGN_OR_RETURN(const bool more, csv->Next(&record));
    if (!more) break;
    const auto at_line = [&](const Status& status) {
      return status.Annotate(path + ":" + std::to_string(csv->line()));
    };
    const bool same =
        record.turn == pass.turn && record.phase == pass.phase && record.layer >= pass.last_layer;
    if (!pass.steps.empty() && !same) {
      if (record.turn < pass.turn) {
        return at_line(InvalidArgumentError("turn " + std::to_string(record.turn) + " after turn " +
                                            std::to_string(pass.turn)));
      }
      if (Status status = pass_done(pass); !status.ok()) return at_line(status);
      pass = Pass();
      seen_.clear();
    }
    pass.turn = record.turn;
    pass.phase = record.phase;
    if (Status status = Add(record, &pass); !status.ok()) return at_line(status);
    if (counting_) Count(record);
    if (++lines_ % 65536 == 0 && options_.progress) options_.progress(lines_, all_lines_);
  }
  if (pass.steps.empty()) return InvalidArgumentError(path + ": no line after its header");
  seen_.clear();
  return pass_done(pass);
}

Status RouteCsvImporter::Scan(TraceInfo* info) {
  counting_ = true;
  for (const std::string& path : files_) {
    uint32_t turn = 0;
    bool begun = false;
    BERTH_RETURN_IF_ERROR(ForPasses(
        path, [&](const io::RouteHeader& header) { return TakeHeader(path, header, info); },
        [&](const Pass& pass) {
          const auto rows = static_cast<uint32_t>(pass.steps.size());
          if (!begun || pass.turn != turn) info->request_rows.push_back(0);
          begun = true;
          turn = pass.turn;
          info->request_rows.back() += rows;
          info->pass_rows.push_back(rows);
          info->rows += rows;
          return Status();
        }));
  }
  counting_ = false;
  all_lines_ = lines_;
  return Status();
}

Status RouteCsvImporter::Write(const TraceInfo&, TraceWriter* writer) {
  lines_ = 0;
  const size_t entries = size_t{layers_} * top_k_;
  for (const std::string& path : files_) {
    BERTH_RETURN_IF_ERROR(ForPasses(
        path, [](const io::RouteHeader&) { return Status(); },
        [&](const Pass& pass) {
          for (size_t row = 0; row < pass.steps.size(); ++row) {
            BERTH_RETURN_IF_ERROR(writer->Append(
                {.experts = std::span(pass.ids).subspan(row * entries, entries),
                 .weights = std::span(pass.weights).subspan(row * entries, entries)}));
          }
          return Status();
        }));
  }
  return Status();
}

}  // namespace

std::unique_ptr<Importer> MakeRouteCsvImporter(std::span<const std::string> files,
                                               const ImportOptions& options) {
  return std::make_unique<RouteCsvImporter>(files, options);
}

}  // namespace berth::trace
