// Heat as text: `layer,expert` lines, hottest first, or `layer,expert,count` lines.
#ifndef BERTH_RUNTIME_TRACE_HEAT_TEXT_H_
#define BERTH_RUNTIME_TRACE_HEAT_TEXT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/status.h"
#include "io/file/byte_source.h"
#include "runtime/trace/heat_file.h"

namespace berth::trace {

// Far more units than a model has: a hostile line must not size a table.
inline constexpr uint64_t kMaxHeatUnits = 1u << 24;

// The two forms do not mix; the first line decides. Lines that begin with '#' and a first line of
// column names are passed over; a unit that stands twice is an error. Errors name file and line.
Result<UnitHeat> ParseHeatText(std::unique_ptr<io::ByteSource> source, uint32_t layers,
                               uint32_t experts);

// From ranks (0 the hottest, negative: not ranked) to heat in (0, 1], 0 for what is not ranked.
// Units may share a rank.
std::vector<double> HeatOfRanks(const std::vector<double>& ranks);

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_HEAT_TEXT_H_
