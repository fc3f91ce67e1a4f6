#include "runtime/run/warm_start.h"

#include <utility>

#include "runtime/trace/heat_file.h"

namespace berth {

Status ReadWarmStart(const std::string& path, uint32_t layers, uint32_t experts,
                     RuntimeOptions* options) {
  Result<UnitHeat> read = ReadHeatFile(path, layers, experts);
  if (!read.ok()) return read.status().Annotate("--warm");
  if (read->known == 0) {
    return InvalidArgumentError("--warm " + path + ": no unit has any heat in it");
  }
  options->heat = std::move(read->heat);
  options->preload = true;
  return Status();
}

Status SaveLearned(const std::string& path, uint32_t layers, uint32_t experts,
                   std::vector<double> heat, const std::string& source) {
  UnitHeat learned;
  learned.layers = layers;
  learned.experts = experts;
  learned.heat = std::move(heat);
  learned.source = source;
  return WriteHeatFile(path, learned, /*replace=*/true).Annotate("--save-learned");
}

}  // namespace berth
