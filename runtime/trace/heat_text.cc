#include "runtime/trace/heat_text.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "io/csv/line_reader.h"
#include "io/csv/numbers.h"
#include "policies/heat_limit.h"
#include "runtime/trace/metadata.h"

namespace berth::trace {
namespace {

constexpr std::string_view kOrderHeader = "layer,expert";
constexpr std::string_view kCountHeader = "layer,expert,count";

struct Line {
  uint32_t layer = 0;
  uint32_t expert = 0;
  double count = 0;
};

class TextHeat {
 public:
  TextHeat(std::unique_ptr<io::ByteSource> source, uint32_t layers, uint32_t experts)
      : lines_(std::move(source)), layers_(layers), experts_(experts) {}

  Result<UnitHeat> Read();

 private:
  Status Add(std::string_view text);
  Status CheckUnit(const Line& line);
  Result<UnitHeat> Table() const;

  io::LineReader lines_;
  const uint32_t layers_;
  const uint32_t experts_;
  bool counts_ = false;
  std::vector<Line> units_;
  absl::flat_hash_set<uint64_t> seen_;
};

Status TextHeat::CheckUnit(const Line& line) {
  const std::pair<uint32_t, uint64_t> limits[] = {
      {line.layer, layers_ == 0 ? kMaxLayers : layers_},
      {line.expert, experts_ == 0 ? kMaxExperts : experts_}};
  for (size_t i = 0; i < 2; ++i) {
    if (limits[i].first < limits[i].second) continue;
    return lines_.Error(std::string(i == 0 ? "layer " : "expert ") +
                        std::to_string(limits[i].first) + ", expected less than " +
                        std::to_string(limits[i].second));
  }
  if (!seen_.insert((uint64_t{line.layer} << 32) | line.expert).second) {
    return lines_.Error("layer " + std::to_string(line.layer) + ", expert " +
                        std::to_string(line.expert) + " stands twice");
  }
  if (units_.size() == kMaxHeatUnits) {
    return lines_.Error("more than " + std::to_string(kMaxHeatUnits) + " units");
  }
  return Status();
}

Status TextHeat::Add(std::string_view text) {
  const auto commas = static_cast<size_t>(std::count(text.begin(), text.end(), ','));
  if (units_.empty()) counts_ = commas == 2;
  std::array<std::string_view, 3> fields;
  const std::span<std::string_view> wanted = std::span(fields).first(counts_ ? 3 : 2);
  Line line;
  if (!io::SplitFields(text, wanted) || !io::ParseNumber(fields[0], &line.layer) ||
      !io::ParseNumber(fields[1], &line.expert) ||
      (counts_ && !io::ParseNumber(fields[2], &line.count))) {
    return lines_.Error(counts_ ? "expected 'layer,expert,count', three numbers"
                                : "expected 'layer,expert', two whole numbers");
  }
  // Written so that a NaN fails it.
  if (!(line.count >= 0 && line.count <= policies::kMostHeat)) {
    return lines_.Error("count " + std::string(fields[2].substr(0, 40)) +
                        ": expected 0 to 1e18; only the counts' proportions matter, so divide all "
                        "of them");
  }
  BERTH_RETURN_IF_ERROR(CheckUnit(line));
  units_.push_back(line);
  return Status();
}

Result<UnitHeat> TextHeat::Table() const {
  UnitHeat heat;
  heat.layers = layers_;
  heat.experts = experts_;
  for (const Line& line : units_) {
    if (layers_ == 0) heat.layers = std::max(heat.layers, line.layer + 1);
    if (experts_ == 0) heat.experts = std::max(heat.experts, line.expert + 1);
  }
  const uint64_t units = uint64_t{heat.layers} * heat.experts;
  if (units > kMaxHeatUnits) {
    return lines_.Error(std::to_string(heat.layers) + " layers x " + std::to_string(heat.experts) +
                        " experts: at most " + std::to_string(kMaxHeatUnits) + " units are read");
  }
  heat.heat.resize(units);
  for (size_t i = 0; i < units_.size(); ++i) {
    const Line& line = units_[i];
    const double rank = static_cast<double>(units_.size() - i);
    heat.heat[uint64_t{line.layer} * heat.experts + line.expert] =
        counts_ ? line.count : rank / static_cast<double>(units_.size());
  }
  return heat;
}

Result<UnitHeat> TextHeat::Read() {
  bool first = true;
  while (true) {
    std::string_view line;
    BERTH_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
    if (!more) break;
    if (line.starts_with('#')) continue;
    const bool header = first && (line == kOrderHeader || line == kCountHeader);
    first = false;
    if (!header) BERTH_RETURN_IF_ERROR(Add(line));
  }
  if (units_.empty()) return lines_.Error("no 'layer,expert' line: the file says nothing");
  return Table();
}

}  // namespace

Result<UnitHeat> ParseHeatText(std::unique_ptr<io::ByteSource> source, uint32_t layers,
                               uint32_t experts) {
  return TextHeat(std::move(source), layers, experts).Read();
}

std::vector<double> HeatOfRanks(const std::vector<double>& ranks) {
  double last = -1;
  for (const double rank : ranks) last = std::max(last, rank);
  std::vector<double> heat(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] >= 0) heat[i] = (last + 1 - ranks[i]) / (last + 1);
  }
  return heat;
}

}  // namespace berth::trace
