#include "runtime/trace/profile.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "berth/types.h"

namespace berth {

Result<UnitHeat> CountHeat(TraceFile* trace, std::span<const uint32_t> requests,
                           const std::function<void(uint64_t done, uint64_t rows)>& progress) {
  const TraceInfo& info = trace->info();
  std::vector<uint64_t> starts(info.request_rows.size() + 1);
  std::partial_sum(info.request_rows.begin(), info.request_rows.end(), starts.begin() + 1,
                   std::plus<uint64_t>());
  uint64_t rows = 0;
  for (const uint32_t request : requests) {
    if (request >= info.request_rows.size()) {
      return OutOfRangeError("request " + std::to_string(request) + ": the trace has " +
                             std::to_string(info.request_rows.size()));
    }
    rows += info.request_rows[request];
  }
  UnitHeat heat;
  heat.layers = info.layers;
  heat.experts = info.experts;
  heat.heat.resize(size_t{info.layers} * info.experts);
  uint64_t done = 0;
  for (const uint32_t request : requests) {
    for (uint64_t row = starts[request]; row < starts[request + 1]; ++row) {
      BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> ids, trace->Experts(row));
      for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == kNoExpert) continue;
        heat.heat[i / info.top_k * info.experts + static_cast<size_t>(ids[i])] += 1;
      }
      if (++done % 1024 == 0 && progress) progress(done, rows);
    }
  }
  heat.known = static_cast<uint64_t>(
      std::count_if(heat.heat.begin(), heat.heat.end(), [](double each) { return each > 0; }));
  return heat;
}

}  // namespace berth
