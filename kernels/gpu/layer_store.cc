#include "kernels/gpu/layer_store.h"

#include <array>
#include <utility>

#include "kernels/card_bytes.h"
#include "kernels/gpu/gpu_status.h"
#include "runtime/base/math.h"

namespace berth::kernels::gpu {
namespace {

// A list of siblings and where the card's pointer to it goes.
struct Part {
  const std::vector<float>* values;
  const float** to;
};

std::array<Part, 6> PartsOf(const ExpertSpec& spec, CardLayer* layer) {
  return {{{&spec.gate_sibling.bias, &layer->gate.bias},
           {&spec.gate_sibling.scale, &layer->gate.scale},
           {&spec.up_sibling.bias, &layer->up.bias},
           {&spec.up_sibling.scale, &layer->up.scale},
           {&spec.down_sibling.bias, &layer->down.bias},
           {&spec.down_sibling.scale, &layer->down.scale}}};
}

}  // namespace

Status LayerStore::Prepare(const ExpertSpec& spec) {
  MutexLock lock(&mutex_);
  if (layers_.contains(&spec)) return Status();
  CardLayer layer;
  layer.spec = &spec;
  if (const uint64_t bytes = CardLayerBytes(spec); bytes > 0) {
    BERTH_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory,
                           memory_->Allocate(bytes, "biases and scales of a layer"));
    const ScopedCard card(ordinal_);
    std::byte* at = memory->data();
    for (const Part& part : PartsOf(spec, &layer)) {
      const size_t size = part.values->size() * sizeof(float);
      if (size == 0) continue;
      BERTH_RETURN_IF_ERROR(
          GpuStatus(gpuMemcpy(at, part.values->data(), size, gpuMemcpyHostToDevice),
                    "biases and scales of a layer", "Memcpy"));
      *part.to = reinterpret_cast<const float*>(at);
      at += AlignUp(size, kCardAlign);
    }
    siblings_.push_back(std::move(memory));
  }
  layers_.emplace(&spec, layer);
  return Status();
}

std::optional<CardLayer> LayerStore::Find(const ExpertSpec& spec) const {
  MutexLock lock(&mutex_);
  if (const auto at = layers_.find(&spec); at != layers_.end()) return at->second;
  if (CardLayerBytes(spec) > 0) return std::nullopt;
  CardLayer layer;
  layer.spec = &spec;
  return layer;
}

}  // namespace berth::kernels::gpu
