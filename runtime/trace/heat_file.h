// Heat files: how hot each unit is, as counted, ranked or learned somewhere. They warm policies up
// and tell the static one what to keep.
//
// The native form is a safetensors file with metadata "format" = "moe-expert-heat/1" and one of
// `heat` F32/F64, `counts` I32/I64/F32 or `ranks` I32 (0 is the hottest, negative: not ranked),
// each [layers, experts]; docs/formats.md. A text file of `layer,expert` lines (hottest first) or
// `layer,expert,count` lines is read as well.
#ifndef BERTH_RUNTIME_TRACE_HEAT_FILE_H_
#define BERTH_RUNTIME_TRACE_HEAT_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"

namespace berth {

struct UnitHeat {
  uint32_t layers = 0;
  uint32_t experts = 0;
  std::vector<double> heat;  // [layers][experts], at least 0, larger is hotter, 0: nothing known
  uint64_t known = 0;        // units of which something is known
  std::string source;        // in the words of the file
};

// InvalidArgument with path, expected and found for a file of another shape; layers x experts of 0
// take the file's.
Result<UnitHeat> ReadHeatFile(const std::string& path, uint32_t layers, uint32_t experts);
Status WriteHeatFile(const std::string& path, const UnitHeat& heat, bool replace = false);

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_HEAT_FILE_H_
