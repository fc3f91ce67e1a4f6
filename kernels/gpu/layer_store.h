// LayerStore: what a card keeps of each layer for itself: the siblings of its matrices.
#ifndef BERTH_KERNELS_GPU_LAYER_STORE_H_
#define BERTH_KERNELS_GPU_LAYER_STORE_H_

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "berth/status.h"
#include "kernels/device.h"
#include "kernels/gpu/expert_launch.h"
#include "kernels/gpu/gpu_memory.h"
#include "runtime/base/mutex.h"

namespace berth::kernels::gpu {

// Layers are told apart by the address of their spec. Thread-safe.
class LayerStore {
 public:
  explicit LayerStore(GpuMemory* memory, int ordinal) : memory_(memory), ordinal_(ordinal) {}

  // Brings the siblings to the card. Once per spec; more often is no harm.
  Status Prepare(const ExpertSpec& spec) BERTH_EXCLUDES(mutex_);
  // Without siblings a layer need not be prepared; with them nothing is found before.
  std::optional<CardLayer> Find(const ExpertSpec& spec) const BERTH_EXCLUDES(mutex_);

 private:
  GpuMemory* const memory_;
  const int ordinal_;
  mutable Mutex mutex_;
  std::unordered_map<const ExpertSpec*, CardLayer> layers_ BERTH_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<DeviceMemory>> siblings_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_LAYER_STORE_H_
