#include "runtime/probe/call_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/math.h"

namespace berth::probe {

using kernels::KernelChoice;
using kernels::WaveUnit;

namespace {

constexpr uint64_t kStockBytes = 32 << 20;  // of units that are generated; others are copies
constexpr uint32_t kMostStock = 8;
constexpr uint64_t kBufferBytes = 16 << 20;
constexpr uint32_t kMostWaves = 16;
constexpr uint64_t kBeyondCaches = 512 << 20;  // more than the caches of any card

}  // namespace

CallBench::CallBench(kernels::Device* device, const ProbeLayer& layer)
    : device_(device), layer_(layer), experts_(layer.spec.experts) {
  std::iota(experts_.begin(), experts_.end(), 0u);
}

CallBench::~CallBench() = default;

Result<std::unique_ptr<CallBench>> CallBench::Create(kernels::Device* device,
                                                     const ProbeLayer& layer,
                                                     const CallSizes& sizes) {
  std::unique_ptr<CallBench> made(new CallBench(device, layer));
  const Status opened = made->Open(sizes);
  if (!opened.ok()) return opened.Annotate(layer.types);
  return made;
}

Status CallBench::Open(const CallSizes& sizes) {
  const kernels::ExpertSpec& spec = layer_.spec;
  const uint64_t most_pairs = uint64_t{sizes.max_rows} * layer_.top_k;
  if (most_pairs > UINT32_MAX / 2) return InvalidArgumentError("too many rows");
  BERTH_RETURN_IF_ERROR(device_->PrepareLayer(spec));
  kernels::StreamOptions options;
  options.max_hidden = spec.hidden;
  options.max_ffn = spec.ffn;
  options.max_pairs = static_cast<uint32_t>(most_pairs);
  options.max_rows = sizes.max_rows;
  const uint64_t most_units = std::min<uint64_t>(most_pairs, spec.experts);
  options.max_units = static_cast<uint32_t>(most_units);
  BERTH_ASSIGN_OR_RETURN(stream_, ProbeStream::Create(device_, options));
  const uint64_t row = uint64_t{spec.hidden} * sizeof(float);
  BERTH_ASSIGN_OR_RETURN(x_, device_->Allocate(sizes.max_rows * row, "rows"));
  BERTH_ASSIGN_OR_RETURN(partials_, device_->Allocate(most_pairs * row, "partial results"));
  // Router weights of all pairs, then one row's ids and its sum.
  const uint64_t weights = AlignUp(most_pairs * sizeof(float), kCardAlign);
  const uint64_t ids = AlignUp(layer_.top_k * sizeof(int32_t), kCardAlign);
  BERTH_ASSIGN_OR_RETURN(weights_, device_->Allocate(weights + ids + row, "router weights"));
  ids_ = reinterpret_cast<int32_t*>(weights_->data() + weights);
  sums_ = reinterpret_cast<float*>(weights_->data() + weights + ids);
  const uint64_t wave_bytes = (2 * uint64_t{spec.experts} + most_units) * sizeof(WaveUnit) +
                              (2 * most_pairs + 3 * uint64_t{spec.experts}) * sizeof(uint32_t) +
                              kMostWaves * 2 * kCardAlign;
  BERTH_ASSIGN_OR_RETURN(waves_memory_,
                         RegisteredRegion::Create(device_, wave_bytes, "calls of a probe"));
  const auto stock = static_cast<uint32_t>(std::min<uint64_t>(
      std::clamp<uint64_t>(kStockBytes / spec.unit_bytes, 1, kMostStock), spec.experts));
  BERTH_ASSIGN_OR_RETURN(
      buffer_, RegisteredRegion::Create(device_, std::max(kBufferBytes, stock * spec.unit_bytes),
                                        "copies of a probe"));
  // Not the last of it: allocations are rounded up.
  const uint64_t free = device_->free_bytes();
  const uint64_t room = std::min(sizes.slot_bytes, free - free / 16);
  const uint64_t wanted = std::max<uint64_t>(spec.experts, kBeyondCaches / spec.unit_bytes);
  slot_count_ = static_cast<uint32_t>(std::clamp<uint64_t>(room / spec.unit_bytes, 1, wanted));
  BERTH_ASSIGN_OR_RETURN(slots_,
                         device_->Allocate(slot_count_ * spec.unit_bytes, "units of a probe"));
  BERTH_RETURN_IF_ERROR(FillSlots(stock));
  return FillRows(sizes.max_rows);
}

Status CallBench::FillSlots(uint32_t stock) {
  const kernels::ExpertSpec& spec = layer_.spec;
  std::memset(buffer_.data(), 0, stock * spec.unit_bytes);
  for (uint32_t i = 0; i < stock; ++i) {
    GenerateUnit(spec, i + 1, buffer_.data() + i * spec.unit_bytes);
  }
  for (uint32_t slot = 0; slot < slot_count_; ++slot) {
    const kernels::CopySegment unit = {buffer_.data() + slot % stock * spec.unit_bytes,
                                       slots_->data() + slot * spec.unit_bytes, spec.unit_bytes};
    BERTH_RETURN_IF_ERROR(stream_->get()->Copy(kernels::CopyDirection::kToCard, {&unit, 1}));
    if (slot % ProbeStream::kMostPieces == 0) BERTH_RETURN_IF_ERROR(stream_->Synchronize());
  }
  return stream_->Synchronize();
}

Status CallBench::FillRows(uint32_t max_rows) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  const auto draw = [&](uint64_t, std::byte* to, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes / sizeof(float); ++i) {
      reinterpret_cast<float*>(to)[i] = value(random);
    }
  };
  const uint64_t row = uint64_t{layer_.spec.hidden} * sizeof(float);
  BERTH_RETURN_IF_ERROR(FillCard(stream_.get(), buffer_, x_->data(), max_rows * row, draw));
  const float weight = 1.0f / static_cast<float>(layer_.top_k);
  const auto even = [weight](uint64_t, std::byte* to, uint64_t bytes) {
    std::fill_n(reinterpret_cast<float*>(to), bytes / sizeof(float), weight);
  };
  BERTH_RETURN_IF_ERROR(
      FillCard(stream_.get(), buffer_, weights_->data(), weights_->bytes(), even));
  const auto first = [](uint64_t, std::byte* to, uint64_t bytes) {
    std::memset(to, 0, bytes);  // routed to expert 0, all of them
  };
  return FillCard(stream_.get(), buffer_, reinterpret_cast<std::byte*>(ids_),
                  layer_.top_k * sizeof(int32_t), first);
}

// Enough for every unit to have its turn.
uint32_t CallBench::WavesFor(uint64_t pairs) const {
  const uint64_t units = std::min<uint64_t>(pairs, layer_.spec.experts);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(CeilDiv(2 * uint64_t{layer_.spec.experts}, units), 1, kMostWaves));
}

CallBench::Wave CallBench::MakeWave(const std::vector<std::vector<uint32_t>>& pairs_of,
                                    size_t layer) {
  Wave wave;
  for (uint32_t expert = 0; expert < pairs_of.size(); ++expert) {
    const std::vector<uint32_t>& pairs = pairs_of[expert];
    if (pairs.empty()) continue;
    WaveUnit unit;
    unit.unit = expert;
    unit.expert = expert;
    unit.first_pair = static_cast<uint32_t>(wave.pairs.size());
    unit.pair_count = static_cast<uint32_t>(pairs.size());
    const uint64_t slot = (layer * layer_.spec.experts + expert) % slot_count_;
    unit.address = slots_->data() + slot * layer_.spec.unit_bytes;
    wave.units.push_back(unit);
    wave.pairs.insert(wave.pairs.end(), pairs.begin(), pairs.end());
  }
  return wave;
}

void CallBench::Place(std::vector<Wave> waves) {
  waves_ = std::move(waves);
  next_ = 0;
  uint64_t used = 0;
  const auto place = [&](const void* from, uint64_t bytes) {
    std::byte* const to = waves_memory_.data() + used;
    used = AlignUp(used + bytes, kCardAlign);
    BERTH_CHECK(used <= waves_memory_.bytes());
    std::memcpy(to, from, bytes);
    return to;
  };
  for (Wave& wave : waves_) {
    wave.units_there = reinterpret_cast<const WaveUnit*>(
        place(wave.units.data(), wave.units.size() * sizeof(WaveUnit)));
    wave.pairs_there = reinterpret_cast<const uint32_t*>(
        place(wave.pairs.data(), wave.pairs.size() * sizeof(uint32_t)));
  }
}

void CallBench::RouteRows(uint32_t rows) {
  rows_ = rows;
  std::vector<Wave> waves(WavesFor(uint64_t{rows} * layer_.top_k));
  for (Wave& wave : waves) {
    std::vector<std::vector<uint32_t>> pairs_of(layer_.spec.experts);
    for (uint32_t pair = 0; pair < rows * layer_.top_k; ++pair) {
      const uint32_t k = pair % layer_.top_k;
      std::swap(experts_[k], experts_[k + random_() % (experts_.size() - k)]);
      pairs_of[experts_[k]].push_back(pair);
    }
    wave = MakeWave(pairs_of, static_cast<size_t>(&wave - waves.data()));
  }
  Place(std::move(waves));
}

uint32_t CallBench::CallRows(const ProbeLayer& layer, uint32_t units, uint32_t rows_each) {
  return static_cast<uint32_t>(CeilDiv(units, layer.top_k)) * rows_each;
}

void CallBench::RouteUnits(uint32_t units, uint32_t rows_each) {
  rows_ = CallRows(layer_, units, rows_each);
  const uint32_t top_k = layer_.top_k;
  std::vector<Wave> waves(WavesFor(uint64_t{units} * rows_each));
  for (Wave& wave : waves) {
    std::shuffle(experts_.begin(), experts_.end(), random_);
    std::vector<std::vector<uint32_t>> pairs_of(layer_.spec.experts);
    // Units in groups of top_k: the rows of a group go to all of its units.
    for (uint32_t unit = 0; unit < units; ++unit) {
      for (uint32_t r = 0; r < rows_each; ++r) {
        pairs_of[experts_[unit]].push_back((unit / top_k * rows_each + r) * top_k + unit % top_k);
      }
    }
    wave = MakeWave(pairs_of, static_cast<size_t>(&wave - waves.data()));
  }
  Place(std::move(waves));
}

double CallBench::units() const {
  double units = 0;
  for (const Wave& wave : waves_) units += static_cast<double>(wave.units.size());
  return units / static_cast<double>(waves_.size());
}

Status CallBench::Enqueue(const Wave& wave, const KernelChoice& kernel) {
  kernels::GroupedCall call;
  call.spec = &layer_.spec;
  call.units = wave.units_there;
  call.unit_count = static_cast<uint32_t>(wave.units.size());
  call.pairs = wave.pairs_there;
  call.top_k = layer_.top_k;
  call.rows = rows_;
  call.x = reinterpret_cast<const float*>(x_->data());
  call.weights = reinterpret_cast<const float*>(weights_->data());
  call.partials = reinterpret_cast<float*>(partials_->data());
  call.kernel = kernel;
  BERTH_RETURN_IF_ERROR(stream_->get()->Run(call));
  return stream_->EndPiece();
}

Result<double> CallBench::Run(const KernelChoice& kernel, uint32_t times) {
  const double begin = SecondsNow();
  for (uint32_t i = 0; i < times; ++i) {
    BERTH_RETURN_IF_ERROR(Enqueue(waves_[next_], kernel));
    next_ = (next_ + 1) % waves_.size();
  }
  BERTH_RETURN_IF_ERROR(stream_->Synchronize());
  return SecondsNow() - begin;
}

Result<uint64_t> CallBench::Hash(const KernelChoice& kernel) {
  const uint64_t bytes = uint64_t{rows_} * layer_.top_k * layer_.spec.hidden * sizeof(float);
  BERTH_RETURN_IF_ERROR(FillCard(stream_.get(), buffer_, partials_->data(), bytes,
                                 [](uint64_t, std::byte* to, uint64_t size) {
                                   std::memset(to, 0xFF, size);  // no numbers
                                 }));
  const Wave& wave = waves_.front();
  BERTH_RETURN_IF_ERROR(Enqueue(wave, kernel));
  BERTH_RETURN_IF_ERROR(stream_->Synchronize());
  StreamHash64 hash;
  uint64_t numbers = 0, nonzero = 0;
  BERTH_RETURN_IF_ERROR(ReadCard(stream_.get(), buffer_, partials_->data(), bytes,
                                 [&](const std::byte* read, uint64_t size) {
                                   hash.Update(read, size);
                                   for (uint64_t i = 0; i < size / sizeof(float); ++i) {
                                     const float value = reinterpret_cast<const float*>(read)[i];
                                     numbers += std::isfinite(value) ? 1 : 0;
                                     nonzero += value != 0 && std::isfinite(value) ? 1 : 0;
                                   }
                                 }));
  if (numbers != wave.pairs.size() * layer_.spec.hidden || nonzero == 0) {
    return InternalError(layer_.types + ", " + std::to_string(rows_) + " rows, kernel " +
                         kernel.ToString() + ": results that are no numbers, or nothing but zeros");
  }
  return hash.Digest();
}

Result<double> CallBench::Reduce(uint32_t times) {
  kernels::ReduceCall call;
  call.rows = 1;
  call.top_k = layer_.top_k;
  call.hidden = layer_.spec.hidden;
  call.partials = reinterpret_cast<const float*>(partials_->data());
  call.weights = reinterpret_cast<const float*>(weights_->data());
  call.ids = ids_;
  call.y = sums_;
  call.y_stride = layer_.spec.hidden;
  const double begin = SecondsNow();
  for (uint32_t i = 0; i < times; ++i) {
    BERTH_RETURN_IF_ERROR(stream_->get()->Reduce(call));
    BERTH_RETURN_IF_ERROR(stream_->EndPiece());
  }
  BERTH_RETURN_IF_ERROR(stream_->Synchronize());
  return SecondsNow() - begin;
}

}  // namespace berth::probe
