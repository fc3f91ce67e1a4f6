// GpuCard: what the streams of one card share.
#ifndef BERTH_KERNELS_GPU_GPU_CARD_H_
#define BERTH_KERNELS_GPU_GPU_CARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/expert/arithmetic.h"
#include "kernels/gpu/completion_thread.h"
#include "kernels/gpu/event_pool.h"
#include "kernels/gpu/expert_launch.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/gpu/gpu_status.h"
#include "kernels/gpu/host_ranges.h"
#include "kernels/gpu/layer_store.h"
#include "kernels/gpu/vendor.h"
#include "runtime/base/mutex.h"

namespace berth::kernels::gpu {

// The pointer table, in card memory.
struct UnitTable {
  const std::byte** entries = nullptr;
  uint32_t units = 0;
};

// Outlives the streams, events and memory of the card. Thread-safe.
struct GpuCard {
  GpuCard(const std::string& card, int number, uint64_t budget_bytes)
      : name(card),
        ordinal(number),
        memory(card, number, budget_bytes),
        host(card, number),
        events(card, number),
        layers(&memory, number),
        completions(card + " done") {}

  // After the driver refused work, nothing that is on the card can be trusted, and the driver
  // refuses everything else too. The first reason stays.
  Status Lose(gpuError_t error, std::string_view where, std::string_view call)
      BERTH_EXCLUDES(mutex) {
    return Lose(GpuStatus(error, where, call));
  }
  Status Lose(const Status& reason) BERTH_EXCLUDES(mutex) {
    MutexLock lock(&mutex);
    if (why_lost.ok()) {
      why_lost = FailedPreconditionError(
          "card " + name + " is lost, open it anew: " + std::string(reason.message()));
      lost.store(true, std::memory_order_release);
    }
    return why_lost;
  }
  // Ok while the card is there.
  Status Lost() BERTH_EXCLUDES(mutex) {
    if (!lost.load(std::memory_order_acquire)) return Status();
    MutexLock lock(&mutex);
    return why_lost;
  }

  void Count(const KernelLaunches& ran) {
    plain += ran.plain;
    dots += ran.dots;
    matrices += ran.matrices;
    wide += ran.wide;
  }
  KernelLaunches launches() const { return {plain, dots, matrices, wide}; }

  const std::string name;
  const int ordinal;
  Arithmetic arithmetic;
  uint32_t processors = 0;
  bool copy_by_kernel = false;

  GpuMemory memory;
  HostRanges host;
  EventPool events;
  LayerStore layers;
  std::atomic<const UnitTable*> table = nullptr;  // owned by the device; null until CreateTable
  std::atomic<uint64_t> workspace_bytes = 0;
  std::atomic<uint32_t> streams = 0;
  // KernelLaunches.
  std::atomic<uint64_t> plain = 0, dots = 0, matrices = 0, wide = 0;

  std::atomic<bool> lost = false;
  Mutex mutex;
  Status why_lost BERTH_GUARDED_BY(mutex);

  CompletionThread completions;  // last: its thread calls streams of this card
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_GPU_CARD_H_
