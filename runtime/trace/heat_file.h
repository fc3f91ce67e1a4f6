// Heat files: how hot each unit is, as counted, ranked or learned somewhere. They warm policies up
// and tell the static one what to keep.
//
// The native form is a safetensors file with metadata "format" = "moe-expert-heat/1" and one of
// `heat` F32/F64, `counts` I32/I64/F32 or `ranks` I32 (0 is the hottest, negative: not ranked),
// each [layers, experts]; docs/formats.md. A text file of `layer,expert` lines (hottest first) or
// `layer,expert,count` lines is read as well.
//
// Counts become heat as they are. An order (ranks, lines without counts) says nothing about how
// much hotter: the hottest gets 1, the last of n gets 1/n. So it weighs no more than one routed row
// in a policy that learns, and is forgotten as soon.
#ifndef BERTH_RUNTIME_TRACE_HEAT_FILE_H_
#define BERTH_RUNTIME_TRACE_HEAT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/status.h"
#include "io/file/byte_source.h"

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
//
// Layers of a file are those of the trace or the catalog, in order: layer 0 is the first MoE layer.
Result<UnitHeat> ReadHeatFile(const std::string& path, uint32_t layers, uint32_t experts);
// The same from any source, which it then owns.
Result<UnitHeat> ParseHeat(std::unique_ptr<io::ByteSource> source, uint32_t layers,
                           uint32_t experts);
// As `heat` F64. InvalidArgument for heat that is negative or not finite, or whose size is not
// layers x experts. `known` is not looked at.
Status WriteHeatFile(const std::string& path, const UnitHeat& heat, bool replace = false);

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_HEAT_FILE_H_
