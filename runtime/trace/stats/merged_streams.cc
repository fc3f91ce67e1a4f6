#include "runtime/trace/stats/merged_streams.h"

#include <memory>
#include <vector>

#include "berth/types.h"

namespace berth::trace {
namespace {

struct Stream {
  std::unique_ptr<TraceFile> trace;
  uint64_t row = 0;
  uint64_t end = 0;
};

class Merger {
 public:
  explicit Merger(const TraceInfo& info)
      : info_(info), seen_(uint64_t{info.layers} * info.experts, 0) {}

  // False when no request is left for the stream.
  bool Begin(Stream* stream) {
    if (next_request_ == info_.request_rows.size()) return false;
    stream->row = next_row_;
    stream->end = next_row_ += info_.request_rows[next_request_++];
    return true;
  }

  // Distinct units of one row of every stream.
  Result<uint64_t> Step(std::vector<Stream>* streams) {
    ++moment_;
    uint64_t distinct = 0;
    for (Stream& stream : *streams) {
      BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> ids,
                             stream.trace->Experts(stream.row++));
      for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == kNoExpert) continue;
        uint32_t& seen = seen_[i / info_.top_k * info_.experts + static_cast<size_t>(ids[i])];
        distinct += seen != moment_;
        seen = moment_;
      }
    }
    return distinct;
  }

 private:
  const TraceInfo& info_;
  std::vector<uint32_t> seen_;  // the moment at which each unit was met last
  uint32_t moment_ = 0;
  size_t next_request_ = 0;
  uint64_t next_row_ = 0;
};

}  // namespace

Result<double> MergedStreamsUnion(const std::string& path, const TraceInfo& info, uint32_t streams,
                                  const std::function<void()>& row_done) {
  if (info.request_rows.size() < streams) return 0.0;
  Merger merger(info);
  std::vector<Stream> running(streams);
  for (Stream& stream : running) {
    BERTH_ASSIGN_OR_RETURN(stream.trace, TraceFile::Open(path));
    merger.Begin(&stream);
  }
  uint64_t moments = 0;
  uint64_t distinct = 0;
  while (true) {
    for (Stream& stream : running) {
      if (stream.row < stream.end || merger.Begin(&stream)) continue;
      return static_cast<double>(distinct) / static_cast<double>(moments) / info.layers;
    }
    BERTH_ASSIGN_OR_RETURN(const uint64_t step, merger.Step(&running));
    distinct += step;
    ++moments;
    for (uint32_t i = 0; i < streams; ++i) row_done();
  }
}

}  // namespace berth::trace
