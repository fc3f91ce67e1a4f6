// One cell of the table of a card's kernels: a pair of types, a routing and a number of rows,
// captured as one graph of all layers, and what it is measured against.
#ifndef BERTH_BENCH_CARD_BENCH_SETTING_H_
#define BERTH_BENCH_CARD_BENCH_SETTING_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/card/bench_layers.h"
#include "bench/card/bench_routing.h"
#include "bench/card/card.h"
#include "bench/card/replay.h"
#include "berth/status.h"
#include "kernels/gpu/expert_launch.h"

namespace berth::bench {

// Buffers that all settings share, for the largest of them.
struct BenchBuffers {
  kernels::gpu::ExpertLauncher launcher;
  CardMemory workspace, x, weights, partials, y, failed, sink;

  static Result<BenchBuffers> Create(const CardInfo& card, const CardStream& stream,
                                     const kernels::gpu::ExpertSizes& sizes,
                                     const kernels::Arithmetic& arithmetic, bool tuned);
};

// What is replayed. The last three tell what the first is bound by.
enum class Variant : uint8_t {
  kCalls,   // the grouped calls
  kRead,    // a kernel for each layer that only reads the units of its calls
  kCached,  // the calls, with all weights out of the card's cache
  kEmpty,   // the calls, nobody routed to anybody
};
inline constexpr size_t kVariants = 4;

class BenchSetting {
 public:
  // Captures. What it points to must outlive it.
  static Result<BenchSetting> Create(const CardInfo& card, const CardStream& stream,
                                     const BenchLayers& layers, BenchBuffers* buffers,
                                     std::string routing_name, BenchRouting routing,
                                     const kernels::KernelChoice& kernel);

  const std::string& routing_name() const { return routing_name_; }
  const BenchRouting& routing() const { return routing_; }
  const kernels::KernelChoice& kernel() const { return kernel_; }

  // One replay; its microseconds a layer join those of the variant.
  Status Measure(const CardStream& stream, Variant variant);
  const std::vector<double>& microseconds(Variant variant) const {
    return microseconds_[static_cast<size_t>(variant)];
  }

  // Runs once over poisoned outputs. InternalError where y is not all there, or where two rows'
  // partial results of the last layer are not what the host makes of them, eight-bit rounding set
  // aside. `same_bits`: whether they are the exact arithmetic's, all of them.
  Status Check(const CardStream& stream, bool* same_bits);
  // A hash of y; the same after every replay.
  Result<uint64_t> HashOutputs(const CardStream& stream) const;

 private:
  Status Capture(const CardInfo& card, const CardStream& stream);
  Result<bool> CheckRow(const CardStream& stream, uint32_t row) const;

  const BenchLayers* layers_ = nullptr;
  BenchBuffers* buffers_ = nullptr;
  std::string routing_name_;
  BenchRouting routing_;
  kernels::KernelChoice kernel_;
  CardMemory ids_, nobody_, units_;
  std::vector<uint32_t> unit_counts_;  // by layer
  std::array<std::optional<Replay>, kVariants> replays_;
  std::array<std::vector<double>, kVariants> microseconds_;
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_BENCH_SETTING_H_
