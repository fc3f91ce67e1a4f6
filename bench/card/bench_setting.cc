#include "bench/card/bench_setting.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "bench/card/memory_kernels.h"
#include "kernels/expert/host_expert.h"
#include "runtime/base/hash.h"

namespace berth::bench {

using kernels::ExpertSpec;

namespace {

// Largest difference of a partial result from the host's, over the largest of that result.
constexpr double kMostDifference = 0.02;

std::vector<float> RandomRows(uint64_t count) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  std::vector<float> rows(count);
  for (float& x : rows) x = value(random);
  return rows;
}

}  // namespace

Result<BenchBuffers> BenchBuffers::Create(const CardInfo& card, const CardStream& stream,
                                          const kernels::gpu::ExpertSizes& sizes,
                                          const kernels::Arithmetic& arithmetic, bool tuned) {
  BenchBuffers made;
  const uint64_t workspace = kernels::gpu::ExpertWorkspaceBytes(sizes);
  BERTH_ASSIGN_OR_RETURN(made.workspace, CardMemory::Allocate(workspace, "workspace"));
  BERTH_RETURN_IF_ERROR(stream.Fill(made.workspace.data(), 0, workspace));
  const uint64_t row = uint64_t{sizes.max_hidden} * sizeof(float);
  BERTH_ASSIGN_OR_RETURN(
      made.x, Upload(stream, RandomRows(uint64_t{sizes.max_rows} * sizes.max_hidden), "rows"));
  const std::vector<float> weights(sizes.max_pairs, 0.1f);
  BERTH_ASSIGN_OR_RETURN(made.weights, Upload(stream, weights, "router weights"));
  BERTH_ASSIGN_OR_RETURN(made.partials,
                         CardMemory::Allocate(sizes.max_pairs * row, "partial results"));
  BERTH_ASSIGN_OR_RETURN(made.y, CardMemory::Allocate(sizes.max_rows * row, "weighted sums"));
  BERTH_ASSIGN_OR_RETURN(made.failed, Upload(stream, std::vector<uint32_t>{0}, "failed unit"));
  BERTH_ASSIGN_OR_RETURN(made.sink, CardMemory::Allocate(sizeof(uint32_t), "sink"));
  made.launcher.sizes = sizes;
  made.launcher.workspace = made.workspace.data();
  made.launcher.arithmetic = arithmetic;
  made.launcher.dispatch.tuned = tuned;
  made.launcher.processors = card.processors;
  return made;
}

Result<BenchSetting> BenchSetting::Create(const CardInfo& card, const CardStream& stream,
                                          const BenchLayers& layers, BenchBuffers* buffers,
                                          std::string routing_name, BenchRouting routing,
                                          const kernels::KernelChoice& kernel) {
  BenchSetting made;
  made.layers_ = &layers;
  made.buffers_ = buffers;
  made.routing_name_ = std::move(routing_name);
  made.routing_ = std::move(routing);
  made.kernel_ = kernel;
  BERTH_ASSIGN_OR_RETURN(made.ids_, Upload(stream, made.routing_.ids, "router ids"));
  const std::vector<int32_t> nobody(made.routing_.ids.size(), kNoExpert);
  BERTH_ASSIGN_OR_RETURN(made.nobody_, Upload(stream, nobody, "router ids"));
  std::vector<const std::byte*> units;
  for (uint32_t layer = 0; layer < layers.layers(); ++layer) {
    const std::vector<uint32_t> experts = made.routing_.DistinctOfLayer(layer);
    for (const uint32_t expert : experts) units.push_back(layers.OnCard(layer, expert));
    made.unit_counts_.push_back(static_cast<uint32_t>(experts.size()));
  }
  BERTH_ASSIGN_OR_RETURN(made.units_, Upload(stream, units, "units of calls"));
  BERTH_RETURN_IF_ERROR(made.Capture(card, stream));
  return made;
}

Status BenchSetting::Capture(const CardInfo& card, const CardStream& stream) {
  const auto capture = [&](Variant variant, Replay::Enqueue enqueue) -> Status {
    BERTH_ASSIGN_OR_RETURN(Replay replay, Replay::Capture(stream, std::move(enqueue)));
    replays_[static_cast<size_t>(variant)].emplace(std::move(replay));
    return Status();
  };
  // By value: the setting itself may move before a replay that calls them again.
  const BenchLayers* const layers = layers_;
  const auto calls = [layers, buffers = buffers_, rows = routing_.rows, top_k = routing_.top_k,
                      kernel = kernel_](const std::byte* const* table, const int32_t* ids) {
    return [=](gpuStream_t on) -> Status {
      kernels::gpu::CardCall call;
      call.layer.spec = &layers->spec();
      call.rows = rows;
      call.top_k = top_k;
      call.x = buffers->x.as<const float>();
      call.weights = buffers->weights.as<const float>();
      call.table = table;
      call.kernel = kernel;
      call.partials = buffers->partials.as<float>();
      call.y = buffers->y.as<float>();
      call.failed_unit = buffers->failed.as<uint32_t>();
      for (uint32_t layer = 0; layer < layers->layers(); ++layer) {
        call.ids = ids + uint64_t{layer} * rows * top_k;
        call.first_unit = layer * layers->spec().experts;
        BERTH_RETURN_IF_ERROR(kernels::gpu::LaunchExperts(buffers->launcher, call, on));
      }
      return Status();
    };
  };
  const auto* const ids = ids_.as<const int32_t>();
  BERTH_RETURN_IF_ERROR(capture(Variant::kCalls, calls(layers->table(), ids)));
  BERTH_RETURN_IF_ERROR(capture(Variant::kCached, calls(layers->cached_table(), ids)));
  BERTH_RETURN_IF_ERROR(
      capture(Variant::kEmpty, calls(layers->table(), nobody_.as<const int32_t>())));
  return capture(
      Variant::kRead,
      [units = units_.as<const std::byte* const>(), counts = unit_counts_,
       bytes = layers->unit_bytes(), sink = buffers_->sink.as<uint32_t>(),
       processors = card.processors](gpuStream_t on) -> Status {
        const std::byte* const* of_layer = units;
        for (const uint32_t count : counts) {
          if (count > 0) {
            BERTH_RETURN_IF_ERROR(LaunchReadUnits(of_layer, count, bytes, processors, sink, on));
          }
          of_layer += count;
        }
        return Status();
      });
}

Status BenchSetting::Measure(const CardStream& stream, Variant variant) {
  const auto v = static_cast<size_t>(variant);
  BERTH_ASSIGN_OR_RETURN(const double seconds, replays_[v]->Run(stream));
  microseconds_[v].push_back(seconds * 1e6 / layers_->layers());
  return Status();
}

Status BenchSetting::Check(const CardStream& stream, bool* same_bits) {
  const uint32_t hidden = layers_->spec().hidden;
  const uint64_t pairs = uint64_t{routing_.rows} * routing_.top_k;
  std::vector<float> y(uint64_t{routing_.rows} * hidden);
  BERTH_RETURN_IF_ERROR(
      stream.Fill(buffers_->partials.data(), 0xFF, pairs * hidden * sizeof(float)));
  BERTH_RETURN_IF_ERROR(stream.Fill(buffers_->y.data(), 0xFF, y.size() * sizeof(float)));
  BERTH_RETURN_IF_ERROR(replays_[static_cast<size_t>(Variant::kCalls)]->Run(stream).status());
  BERTH_RETURN_IF_ERROR(stream.ToHost(y.data(), buffers_->y.data(), y.size() * sizeof(float)));
  const auto finite = [](float value) { return std::isfinite(value); };
  const auto nonzero = [](float value) { return value != 0; };
  if (!std::all_of(y.begin(), y.end(), finite) || !std::any_of(y.begin(), y.end(), nonzero)) {
    return InternalError("the calls left weighted sums that are no numbers, or nothing but zeros");
  }
  uint32_t failed = 0;
  BERTH_RETURN_IF_ERROR(stream.ToHost(&failed, buffers_->failed.data(), sizeof(failed)));
  if (failed != 0) return InternalError("unit " + std::to_string(failed - 1) + " had no address");
  *same_bits = true;
  for (const uint32_t row : {0u, routing_.rows - 1}) {
    BERTH_ASSIGN_OR_RETURN(const bool same, CheckRow(stream, row));
    *same_bits = *same_bits && same;
  }
  return Status();
}

// Whether the row's partial results have the exact arithmetic's bits.
Result<bool> BenchSetting::CheckRow(const CardStream& stream, uint32_t row) const {
  const ExpertSpec& spec = layers_->spec();
  const uint32_t layer = layers_->layers() - 1, top_k = routing_.top_k;
  const std::span<const int32_t> ids = routing_.OfLayer(layer).subspan(size_t{row} * top_k, top_k);
  std::vector<float> x(spec.hidden), got(uint64_t{top_k} * spec.hidden), want(got.size());
  BERTH_RETURN_IF_ERROR(stream.ToHost(x.data(),
                                      buffers_->x.data() + row * spec.hidden * sizeof(float),
                                      spec.hidden * sizeof(float)));
  BERTH_RETURN_IF_ERROR(stream.ToHost(got.data(),
                                      buffers_->partials.data() + row * got.size() * sizeof(float),
                                      got.size() * sizeof(float)));
  std::vector<kernels::WaveUnit> units;
  std::vector<uint32_t> pairs;
  std::vector<const std::byte*> addresses;
  for (uint32_t k = 0; k < top_k; ++k) {
    if (ids[k] < 0) continue;
    const auto expert = static_cast<uint32_t>(ids[k]);
    units.push_back({expert, expert, static_cast<uint32_t>(pairs.size()), 1});
    pairs.push_back(k);
    addresses.push_back(layers_->OnHost(layer, expert));
  }
  const std::unique_ptr<kernels::WorkerPool> pool = kernels::MakeWorkerPool(1);
  kernels::HostExpertWorkspace workspace(pool.get(), spec.hidden, spec.ffn, top_k);
  kernels::GroupedCall call;
  call.spec = &spec;
  call.units = units.data();
  call.unit_count = static_cast<uint32_t>(units.size());
  call.pairs = pairs.data();
  call.top_k = top_k;
  call.x = x.data();
  call.partials = want.data();
  BERTH_RETURN_IF_ERROR(workspace.Run(call, addresses));
  double largest = 0, difference = 0;
  bool same = true;
  for (const uint32_t k : pairs) {
    const uint64_t at = uint64_t{k} * spec.hidden;
    same = same && std::memcmp(&got[at], &want[at], spec.hidden * sizeof(float)) == 0;
    for (uint32_t i = 0; i < spec.hidden; ++i) {
      const double error = std::abs(static_cast<double>(got[at + i]) - want[at + i]);
      difference = error <= difference ? difference : error;  // keeps what is no number
      largest = std::max(largest, std::abs(static_cast<double>(want[at + i])));
    }
  }
  if (difference <= kMostDifference * largest) return same;
  return InternalError("row " + std::to_string(row) + " is not what the host makes of it");
}

Result<uint64_t> BenchSetting::HashOutputs(const CardStream& stream) const {
  std::vector<float> y(uint64_t{routing_.rows} * layers_->spec().hidden);
  BERTH_RETURN_IF_ERROR(stream.ToHost(y.data(), buffers_->y.data(), y.size() * sizeof(float)));
  return Hash64(y.data(), y.size() * sizeof(float));
}

}  // namespace berth::bench
