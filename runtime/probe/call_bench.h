// CallBench: grouped calls of one layer on a card, as a run makes them: units in slots, rows routed
// to some of them at random, from one call to the next to others, so that no cache keeps them.
#ifndef BERTH_RUNTIME_PROBE_CALL_BENCH_H_
#define BERTH_RUNTIME_PROBE_CALL_BENCH_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "berth/status.h"
#include "kernels/device.h"
#include "runtime/probe/probe_layer.h"
#include "runtime/probe/probe_memory.h"

namespace berth::probe {

struct CallSizes {
  uint32_t max_rows = 1;      // of a call
  uint64_t slot_bytes = 4e9;  // of units at most; of more experts several share a slot
};

class CallBench {
 public:
  // Fills the slots. `device` and `layer` outlive it. ResourceExhausted where the card has no room
  // for the calls and at least one unit.
  static Result<std::unique_ptr<CallBench>> Create(kernels::Device* device, const ProbeLayer& layer,
                                                   const CallSizes& sizes);
  ~CallBench();

  // What the next calls are like: so many rows, each to top_k experts that are all as likely.
  void RouteRows(uint32_t rows);
  // So many units with so many rows each; they need CallRows of those.
  void RouteUnits(uint32_t units, uint32_t rows_each);
  static uint32_t CallRows(const ProbeLayer& layer, uint32_t units, uint32_t rows_each);

  uint32_t rows() const { return rows_; }
  double units() const;  // of a call, on average over the calls that take turns
  uint32_t slots() const { return slot_count_; }

  // Seconds of so many calls one after the other.
  Result<double> Run(const kernels::KernelChoice& kernel, uint32_t times);
  // Of what the first of these calls writes; nothing that was there before can pass for it.
  // InternalError where it is not all numbers, or nothing but zeros.
  Result<uint64_t> Hash(const kernels::KernelChoice& kernel);
  // A step's weighted sums over what calls have written, one row each.
  Result<double> Reduce(uint32_t times);

 private:
  struct Wave {
    std::vector<kernels::WaveUnit> units;
    std::vector<uint32_t> pairs;
    const kernels::WaveUnit* units_there = nullptr;  // the same where the card reads them
    const uint32_t* pairs_there = nullptr;
  };

  CallBench(kernels::Device* device, const ProbeLayer& layer);
  Status Open(const CallSizes& sizes);
  Status FillSlots(uint32_t stock);
  Status FillRows(uint32_t max_rows);
  uint32_t WavesFor(uint64_t pairs) const;
  // Of pairs by expert. Units are those of such a layer, where there is room for several.
  Wave MakeWave(const std::vector<std::vector<uint32_t>>& pairs_of, size_t layer);
  void Place(std::vector<Wave> waves);
  Status Enqueue(const Wave& wave, const kernels::KernelChoice& kernel);

  kernels::Device* const device_;
  const ProbeLayer& layer_;
  std::mt19937_64 random_{1};
  uint32_t slot_count_ = 0;
  uint32_t rows_ = 0;
  size_t next_ = 0;
  std::vector<uint32_t> experts_;  // shuffled as far as a row needs
  std::vector<Wave> waves_;
  RegisteredRegion waves_memory_, buffer_;
  std::unique_ptr<kernels::DeviceMemory> slots_, x_, weights_, partials_;
  float* sums_ = nullptr;   // of one row, on the card
  int32_t* ids_ = nullptr;  // of one row, on the card
  std::unique_ptr<ProbeStream> stream_;
};

}  // namespace berth::probe

#endif  // BERTH_RUNTIME_PROBE_CALL_BENCH_H_
