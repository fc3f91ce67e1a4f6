// The locality of synthetic traces, at a size that takes no time: bench/published_table shows the
// whole.
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/count/count.h"
#include "runtime/synth/synth.h"

namespace berth {
namespace {

constexpr uint32_t kWindow = 5;

SynthOptions FewLayers() {
  SynthOptions options;
  options.layers = 3;
  options.passes = 1200;
  options.requests = 8;
  return options;
}

std::unique_ptr<TraceFile> TraceOf(const SynthOptions& options) {
  auto made = MakeSynthTrace(options);
  EXPECT_TRUE(made.ok()) << made.status().ToString();
  return std::move(made).value();
}

// Mean distinct experts of a layer in the first `rows` rows of a pass.
double Distinct(TraceFile* trace, uint32_t rows) {
  const TraceInfo& info = trace->info();
  uint64_t distinct = 0, steps = 0, row = 0;
  for (; row < info.rows; row += kWindow) {
    std::vector<std::set<int32_t>> layers(info.layers);
    for (uint32_t at = 0; at < rows; ++at) {
      const std::span<const int32_t> experts = *trace->Experts(row + at);
      for (size_t k = 0; k < experts.size(); ++k) layers[k / info.top_k].insert(experts[k]);
    }
    for (const auto& layer : layers) distinct += layer.size();
    steps += info.layers;
  }
  return static_cast<double>(distinct) / static_cast<double>(steps);
}

// Share of a row's experts that the row before it in the request had too.
double RowRepeats(TraceFile* trace) {
  const TraceInfo& info = trace->info();
  uint64_t repeats = 0, all = 0, row = 0;
  for (const uint32_t rows : info.request_rows) {
    std::vector<int32_t> last;
    for (uint32_t at = 0; at < rows; ++at) {
      const std::span<const int32_t> experts = *trace->Experts(row++);
      for (size_t k = 0; k < last.size(); ++k) {
        const size_t first = k / info.top_k * info.top_k;
        for (size_t other = first; other < first + info.top_k; ++other) {
          repeats += experts[k] == last[other] ? 1 : 0;
        }
        ++all;
      }
      last.assign(experts.begin(), experts.end());
    }
  }
  return static_cast<double>(repeats) / static_cast<double>(all);
}

TEST(SynthLocality, RowsOfAPassShareExperts) {
  const auto trace = TraceOf(FewLayers());
  EXPECT_EQ(Distinct(trace.get(), 1), 10);
  EXPECT_NEAR(Distinct(trace.get(), 2), 16.2, 1);
  EXPECT_NEAR(Distinct(trace.get(), 5), 30.5, 2);
  EXPECT_NEAR(RowRepeats(trace.get()), 0.36, 0.05);
}

TEST(SynthLocality, KeepAddsToWhatComesAgain) {
  SynthOptions options = FewLayers();
  options.sigma = 0;
  options.scale_first = options.scale_last = 1e6;  // all alike
  for (const double keep : {0.0, 0.5, 1.0}) {
    options.keep = keep;
    // Of those not kept, about 10 in 512 are drawn again.
    EXPECT_NEAR(RowRepeats(TraceOf(options).get()), keep + (1 - keep) * 0.0195, 0.01) << keep;
  }
}

// Misses in percent at half residency: a profile of other traffic that never moves, LRU that begins
// empty with each request, and the bound.
struct Rates {
  double fixed, lru, belady;
};
Rates Count(const SynthOptions& options) {
  SynthOptions other = options;
  other.seed += 1000;
  other.requests *= 3;
  other.passes *= 3;
  const auto profile = TraceOf(other);
  CountWorkload workload;
  workload.passes.window = kWindow;
  workload.heat.resize(size_t{options.layers} * options.experts);
  for (uint64_t row = 0; row < profile->info().rows; ++row) {
    const std::span<const int32_t> experts = *profile->Experts(row);
    for (size_t at = 0; at < experts.size(); ++at) {
      workload.heat[at / options.top_k * options.experts + static_cast<size_t>(experts[at])] += 1;
    }
  }
  const auto trace = TraceOf(options);
  const std::vector<uint32_t> half = {options.layers * options.experts / 2};
  const auto rate = [&](const char* policy, Between between, bool preload) {
    CountRequest request;
    request.policy = policy;
    request.pool_slots = half;
    request.preload = preload;
    workload.between = between;
    const auto counted = CountMisses(trace.get(), workload, std::span(&request, 1));
    EXPECT_TRUE(counted.ok()) << counted.status().ToString();
    return 100.0 * static_cast<double>((*counted)[0].misses) /
           static_cast<double>((*counted)[0].lookups);
  };
  return {rate("static", Between::kReset, true), rate("lru", Between::kReset, false),
          rate("belady", Between::kCarried, false)};
}

TEST(SynthLocality, RequestsMakeRecencyWinAndIndependentDrawsReverseIt) {
  SynthOptions options = FewLayers();
  const Rates rates = Count(options);
  EXPECT_NEAR(rates.fixed, 23.3, 4);
  EXPECT_NEAR(rates.lru, 7.3, 2);
  EXPECT_NEAR(rates.belady, 2.6, 1);

  options.independent = true;
  const Rates control = Count(options);
  EXPECT_NEAR(control.fixed, 16.0, 2);
  EXPECT_NEAR(control.lru, 28.1, 2.5);
  EXPECT_NEAR(control.belady, 10.0, 1.5);
  EXPECT_GT(control.lru, control.fixed);
}

TEST(SynthLocality, AffinityLetsRequestsShareExperts) {
  // Requests so short that little of each drifts away, through a cache that is carried over.
  SynthOptions options = FewLayers();
  options.requests = 40;
  const auto misses = [&](double affinity) {
    options.affinity = affinity;
    const auto trace = TraceOf(options);
    CountRequest request;
    request.pool_slots = {options.layers * options.experts / 2};
    const auto counted = CountMisses(trace.get(), CountWorkload(), std::span(&request, 1));
    return static_cast<double>((*counted)[0].misses);
  };
  EXPECT_LT(misses(0.9), 0.8 * misses(0));
}

}  // namespace
}  // namespace berth
