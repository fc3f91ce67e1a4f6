#include "runtime/trace/stats/stats.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <system_error>

#include "berth/types.h"
#include "runtime/trace/stats/merged_streams.h"
#include "runtime/trace/stats/quantiles.h"
#include "runtime/trace/stats/reuse.h"

namespace berth {
namespace {

using trace::Histogram;
using trace::ReuseDistances;

constexpr std::array<double, 3> kHottest = {0.10, 0.25, 0.50};

// One reading of the trace in file order.
class Reading {
 public:
  Reading(TraceFile* trace, TraceStats* stats);
  Status Run(const std::function<void()>& row_done);

 private:
  uint64_t unit(size_t entry, int32_t id) const {
    return entry / info_.top_k * info_.experts + static_cast<size_t>(id);
  }
  void BeginRequest();
  void EndRequest();
  void Row(std::span<const int32_t> ids);
  void Unions(std::span<const int32_t> ids);
  Status Recall(uint64_t row, std::span<const int32_t> ids);
  void Skew();
  void Finish();

  TraceFile& trace_;
  const TraceInfo& info_;
  TraceStats& stats_;
  const size_t entries_;

  uint64_t pass_ = 0;
  std::vector<uint64_t> counts_;     // of each unit
  std::vector<uint64_t> last_pass_;  // of each unit
  ReuseDistances reuse_;
  std::vector<ReuseDistances> layer_reuse_;
  Histogram reuse_units_, reuse_layer_units_, reuse_passes_;

  // Of the request at hand.
  uint64_t request_row_ = 0;
  std::vector<uint32_t> last_row_;  // of each unit, counted from 1; 0: not used yet
  std::vector<uint32_t> layer_units_;
  uint64_t request_units_ = 0;
  std::vector<double> working_experts_, working_units_;

  // Rows that came last, the newest first, and how many unions of so many rows there were.
  std::vector<std::vector<int32_t>> recent_;
  std::vector<uint32_t> marks_;  // of each unit
  uint32_t mark_ = 0;
  std::array<uint64_t, TraceStats::kMaxUnion> union_units_{}, union_rows_{};

  uint64_t repeated_ = 0;
  std::array<uint64_t, 2> predicted_{}, right_{};
};

Reading::Reading(TraceFile* trace, TraceStats* stats)
    : trace_(*trace),
      info_(trace->info()),
      stats_(*stats),
      entries_(size_t{info_.layers} * info_.top_k),
      counts_(uint64_t{info_.layers} * info_.experts),
      last_pass_(counts_.size()),
      reuse_(static_cast<uint32_t>(counts_.size())),
      layer_reuse_(info_.layers, ReuseDistances(info_.experts)),
      last_row_(counts_.size()),
      layer_units_(info_.layers),
      marks_(counts_.size()) {}

void Reading::BeginRequest() {
  request_row_ = 0;
  request_units_ = 0;
  std::fill(last_row_.begin(), last_row_.end(), 0u);
  std::fill(layer_units_.begin(), layer_units_.end(), 0u);
  recent_.clear();
}

void Reading::EndRequest() {
  for (const uint32_t units : layer_units_) {
    working_experts_.push_back(units);
    stats_.working_set_experts_max = std::max(stats_.working_set_experts_max, units);
  }
  working_units_.push_back(static_cast<double>(request_units_));
  stats_.working_set_units_max = std::max(stats_.working_set_units_max, request_units_);
}

void Reading::Row(std::span<const int32_t> ids) {
  ++request_row_;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNoExpert) continue;
    const uint64_t u = unit(i, ids[i]);
    const size_t layer = i / info_.top_k;
    ++stats_.lookups;
    if (const auto distance = reuse_.Use(static_cast<uint32_t>(u))) {
      ++stats_.reuses;
      reuse_units_.Add(*distance);
      reuse_passes_.Add(pass_ - last_pass_[u]);
    }
    if (const auto distance = layer_reuse_[layer].Use(static_cast<uint32_t>(ids[i]))) {
      reuse_layer_units_.Add(*distance);
    }
    last_pass_[u] = pass_;
    ++counts_[u];
    if (last_row_[u] == 0) {
      ++stats_.first_touches;
      ++layer_units_[layer];
      ++request_units_;
    } else {
      repeated_ += last_row_[u] + 1 == request_row_;
    }
    last_row_[u] = static_cast<uint32_t>(request_row_);
  }
}

// The union of this row and those before it, one more row at a time.
void Reading::Unions(std::span<const int32_t> ids) {
  if (!recent_.empty()) {
    for (const int32_t id : recent_.front()) stats_.repeat_pairs += id != kNoExpert;
  }
  if (recent_.size() == TraceStats::kMaxUnion) recent_.pop_back();
  recent_.insert(recent_.begin(), std::vector<int32_t>(ids.begin(), ids.end()));
  ++mark_;
  uint64_t distinct = 0;
  for (size_t rows = 0; rows < recent_.size(); ++rows) {
    for (size_t i = 0; i < entries_; ++i) {
      const int32_t id = recent_[rows][i];
      if (id == kNoExpert) continue;
      uint32_t& seen = marks_[unit(i, id)];
      distinct += seen != mark_;
      seen = mark_;
    }
    union_units_[rows] += distinct;
    ++union_rows_[rows];
  }
}

Status Reading::Recall(uint64_t row, std::span<const int32_t> ids) {
  for (uint32_t ahead = 1; ahead <= info_.predictions_ahead; ++ahead) {
    BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> said, trace_.Predicted(row, ahead));
    for (size_t first = 0; first < entries_; first += info_.top_k) {
      const auto predicted = said.subspan(first, info_.top_k);
      // Nobody looks ahead at the first layers.
      if (std::all_of(predicted.begin(), predicted.end(),
                      [](int32_t id) { return id == kNoExpert; })) {
        continue;
      }
      for (const int32_t id : ids.subspan(first, info_.top_k)) {
        if (id == kNoExpert) continue;
        ++predicted_[ahead - 1];
        right_[ahead - 1] += std::find(predicted.begin(), predicted.end(), id) != predicted.end();
      }
    }
  }
  return Status();
}

void Reading::Skew() {
  std::array<std::vector<double>, 3> hottest;
  std::vector<double> gini, bits, normalized;
  for (uint32_t layer = 0; layer < info_.layers; ++layer) {
    std::vector<uint64_t> counts(counts_.begin() + uint64_t{layer} * info_.experts,
                                 counts_.begin() + uint64_t{layer + 1} * info_.experts);
    std::sort(counts.rbegin(), counts.rend());
    const auto all =
        static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
    if (all == 0) continue;
    const auto experts = static_cast<double>(counts.size());
    double entropy = 0;
    double weighted = 0;  // by rank from the coldest, counted from 1
    for (size_t i = 0; i < counts.size(); ++i) {
      const double share = static_cast<double>(counts[i]) / all;
      if (share > 0) entropy -= share * std::log2(share);
      weighted += share * (experts - static_cast<double>(i));
    }
    gini.push_back((2 * weighted - (experts + 1)) / experts);
    bits.push_back(entropy);
    normalized.push_back(counts.size() > 1 ? entropy / std::log2(experts) : 1.0);
    for (size_t i = 0; i < kHottest.size(); ++i) {
      const auto hot = static_cast<std::ptrdiff_t>(std::ceil(kHottest[i] * experts - 1e-9));
      hottest[i].push_back(
          static_cast<double>(std::accumulate(counts.begin(), counts.begin() + hot, uint64_t{0})) /
          all);
    }
  }
  for (size_t i = 0; i < kHottest.size(); ++i) {
    stats_.hottest_share[i] = trace::SpreadOf(hottest[i]);
  }
  stats_.gini = trace::SpreadOf(gini);
  stats_.entropy_bits = trace::SpreadOf(bits);
  stats_.entropy_normalized = trace::SpreadOf(normalized);
}

void Reading::Finish() {
  const auto ratio = [](uint64_t part, uint64_t of) {
    return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
  };
  for (const uint64_t count : counts_) {
    stats_.units_used += count > 0;
    stats_.units_used_once += count == 1;
  }
  Skew();
  stats_.reuse_units = reuse_units_.All();
  stats_.reuse_layer_units = reuse_layer_units_.All();
  stats_.reuse_passes = reuse_passes_.All();
  stats_.repeat_probability = ratio(repeated_, stats_.repeat_pairs);
  stats_.working_set_experts_median = trace::MedianOf(working_experts_);
  stats_.working_set_units_median = trace::MedianOf(working_units_);
  for (size_t i = 0; i < union_units_.size(); ++i) {
    stats_.rows_union[i] = ratio(union_units_[i], union_rows_[i] * info_.layers);
  }
  for (size_t i = 0; i < 2; ++i) stats_.recall[i] = ratio(right_[i], predicted_[i]);
}

Status Reading::Run(const std::function<void()>& row_done) {
  uint64_t row = 0;
  uint64_t pass_end = info_.pass_rows.empty() ? 1 : info_.pass_rows[0];
  for (const uint32_t rows : info_.request_rows) {
    BeginRequest();
    for (const uint64_t end = row + rows; row < end; ++row) {
      while (row >= pass_end) {
        ++pass_;
        pass_end += info_.pass_rows.empty() ? 1 : info_.pass_rows[pass_];
      }
      BERTH_ASSIGN_OR_RETURN(const std::span<const int32_t> ids, trace_.Experts(row));
      Row(ids);
      Unions(ids);
      BERTH_RETURN_IF_ERROR(Recall(row, ids));
      row_done();
    }
    EndRequest();
  }
  Finish();
  return Status();
}

void CountPasses(const TraceInfo& info, TraceStats* stats) {
  stats->passes = info.pass_rows.empty() ? info.rows : info.pass_rows.size();
  if (info.pass_rows.empty()) stats->decode_rows = info.rows;
  for (const uint32_t rows : info.pass_rows) {
    (rows > 1 ? stats->prompt_rows : stats->decode_rows) += rows;
    stats->longest_pass_rows = std::max(stats->longest_pass_rows, rows);
  }
}

}  // namespace

Result<TraceStats> AnalyzeTrace(const std::string& path,
                                const std::function<void(uint64_t, uint64_t)>& progress) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<TraceFile> trace, TraceFile::Open(path));
  TraceStats stats;
  stats.info = trace->info();
  const TraceInfo& info = stats.info;
  if (uint64_t{info.layers} * info.experts >= (uint64_t{1} << 30)) {
    return ResourceExhaustedError(path + ": more than 2^30 units: no model has as many");
  }
  std::error_code ignored;
  stats.file_bytes = std::filesystem::file_size(path, ignored);
  CountPasses(info, &stats);
  const auto runs =
      static_cast<uint32_t>(std::min<size_t>(TraceStats::kMaxUnion, info.request_rows.size()));
  const uint64_t all = info.rows * (1 + runs);
  uint64_t done = 0;
  const auto row_done = [&] {
    if (++done % 1024 == 0 && progress) progress(done, all);
  };
  Reading reading(trace.get(), &stats);
  BERTH_RETURN_IF_ERROR(reading.Run(row_done));
  for (uint32_t streams = 1; streams <= runs; ++streams) {
    BERTH_ASSIGN_OR_RETURN(stats.streams_union[streams - 1],
                           trace::MergedStreamsUnion(path, info, streams, row_done));
  }
  return stats;
}

}  // namespace berth
