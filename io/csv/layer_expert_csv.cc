#include "io/csv/layer_expert_csv.h"

#include <array>

#include "io/csv/numbers.h"

namespace berth::io {
namespace {
constexpr std::string_view kHeader = "layer,expert";
}

Result<std::unique_ptr<LayerExpertCsv>> LayerExpertCsv::Open(std::unique_ptr<ByteSource> source) {
  std::unique_ptr<LayerExpertCsv> csv(new LayerExpertCsv(std::move(source)));
  std::string_view line;
  do {
    BERTH_ASSIGN_OR_RETURN(const bool more, csv->lines_.Next(&line));
    if (!more) return csv->lines_.Error("ends before its header 'layer,expert'");
  } while (line.starts_with('#'));
  if (line != kHeader) return csv->lines_.Error("expected the header 'layer,expert'");
  return csv;
}

Result<bool> LayerExpertCsv::Next(LayerExpert* access) {
  std::string_view line;
  do {
    BERTH_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
    if (!more) return false;
  } while (line.starts_with('#'));
  std::array<std::string_view, 2> fields;
  if (!SplitFields(line, fields) || !ParseNumber(fields[0], &access->layer) ||
      !ParseNumber(fields[1], &access->expert)) {
    return lines_.Error("expected two whole numbers 'layer,expert'");
  }
  return true;
}

}  // namespace berth::io
