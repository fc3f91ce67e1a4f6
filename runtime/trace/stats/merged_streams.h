// How many distinct experts a layer has when several requests run side by side.
#ifndef BERTH_RUNTIME_TRACE_STATS_MERGED_STREAMS_H_
#define BERTH_RUNTIME_TRACE_STATS_MERGED_STREAMS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "berth/status.h"
#include "runtime/trace/trace.h"

namespace berth::trace {

// Mean distinct experts of a layer over the moments at which `streams` requests run, each with one
// row; a stream whose request has ended takes the next of the file. 0 where there are not as many
// requests. Each stream reads the file through windows of its own. `row_done` after every row.
Result<double> MergedStreamsUnion(const std::string& path, const TraceInfo& info, uint32_t streams,
                                  const std::function<void()>& row_done);

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_STATS_MERGED_STREAMS_H_
