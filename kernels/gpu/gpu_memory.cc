#include "kernels/gpu/gpu_memory.h"

#include <algorithm>

#include "kernels/gpu/gpu_status.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::kernels::gpu {
namespace {

// What a driver's own state on a card may take before we look, and by how much its readings differ
// from one opening to the next.
constexpr uint64_t kContextBytes = 768u << 20;
constexpr uint64_t kGrainBytes = 64u << 20;

uint64_t ReserveOf(uint64_t total) {
  return std::max<uint64_t>(total / 32, std::min<uint64_t>(512u << 20, total / 8));
}

}  // namespace

Result<GpuBudget> PlanBudget(std::string_view card, uint64_t asked, uint64_t free, uint64_t total) {
  GpuBudget budget;
  if (asked > 0) {
    if (asked > free) {
      return ResourceExhaustedError("card " + std::string(card) + ": asked " + FormatBytes(asked) +
                                    " of memory, free " + FormatBytes(free) + " of " +
                                    FormatBytes(total) +
                                    ": lower --memory, or end what holds the rest");
    }
    budget.bytes = asked;
    return budget;
  }
  budget.reserve_bytes = ReserveOf(total);
  // A card that is ours alone gives the same number every time it is opened.
  const uint64_t context = std::min(kContextBytes, total / 8);
  const uint64_t alone = AlignDown(total - budget.reserve_bytes - context, kCardAlign);
  if (free >= alone + budget.reserve_bytes) {
    budget.bytes = alone;
    return budget;
  }
  const uint64_t left = free > budget.reserve_bytes ? free - budget.reserve_bytes : 0;
  budget.bytes = AlignDown(left, left > 8 * kGrainBytes ? kGrainBytes : kCardAlign);
  if (budget.bytes == 0) {
    return ResourceExhaustedError("card " + std::string(card) + ": free " + FormatBytes(free) +
                                  " of " + FormatBytes(total) + ", of which " +
                                  FormatBytes(budget.reserve_bytes) +
                                  " stay in reserve: end what holds the rest, or say --memory");
  }
  budget.note = std::string(card) + ": others hold " + FormatBytes(total - free) +
                " of the card's memory: " + FormatBytes(alone - budget.bytes) +
                " less to use than alone";
  return budget;
}

class GpuMemory::Block final : public DeviceMemory {
 public:
  Block(GpuMemory* owner, std::byte* data, size_t bytes)
      : owner_(owner), data_(data), bytes_(bytes) {}
  ~Block() override {
    owner_->Free(*this);
    const ScopedCard card(owner_->ordinal_);
    if (gpuFree(data_) != gpuSuccess) (void)gpuGetLastError();  // of a lost card
  }
  std::byte* data() const override { return data_; }
  size_t bytes() const override { return bytes_; }

 private:
  GpuMemory* owner_;
  std::byte* data_;
  size_t bytes_;
};

GpuMemory::~GpuMemory() {
  MutexLock lock(&mutex_);
  BERTH_CHECK_MSG(ranges_.empty(), "card memory outlives its device");
}

uint64_t GpuMemory::free_bytes() const {
  MutexLock lock(&mutex_);
  return budget_bytes_ - used_bytes_;
}

Result<std::unique_ptr<DeviceMemory>> GpuMemory::Allocate(size_t bytes, std::string_view purpose) {
  const std::string what = "card " + card_ + ": " + std::string(purpose);
  if (bytes == 0) return InvalidArgumentError(what + ": asked for 0 bytes");
  const auto exhausted = [&](uint64_t free) {
    return ResourceExhaustedError(what + ": asked " + FormatBytes(bytes) + ", free " +
                                  FormatBytes(free) + " of " + FormatBytes(budget_bytes_) +
                                  ": lower --arena or --ring, or give the card more memory");
  };
  if (bytes > budget_bytes_) return exhausted(free_bytes());
  const uint64_t charged = AlignUp(bytes, kCardAlign);
  {
    MutexLock lock(&mutex_);
    if (charged > budget_bytes_ - used_bytes_) return exhausted(budget_bytes_ - used_bytes_);
    used_bytes_ += charged;
  }
  void* data = nullptr;
  Status status;
  {
    const ScopedCard card(ordinal_);
    status = card.error() != gpuSuccess ? GpuStatus(card.error(), what, "SetDevice")
                                        : GpuStatus(gpuMalloc(&data, charged),
                                                    what + " of " + FormatBytes(bytes), "Malloc");
  }
  if (!status.ok()) {
    MutexLock lock(&mutex_);
    used_bytes_ -= charged;
    if (status.code() != StatusCode::kResourceExhausted) return status;
    return ResourceExhaustedError(std::string(status.message()) +
                                  ": lower --arena, --ring or --memory");
  }
  BERTH_CHECK(reinterpret_cast<uintptr_t>(data) % kCardAlign == 0);
  auto block = std::make_unique<Block>(this, static_cast<std::byte*>(data), bytes);
  MutexLock lock(&mutex_);
  const std::byte* begin = block->data();
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](const Range& a, const std::byte* b) { return a.begin < b; });
  ranges_.insert(at, {begin, bytes});
  return std::unique_ptr<DeviceMemory>(std::move(block));
}

void GpuMemory::Free(const Block& block) {
  MutexLock lock(&mutex_);
  used_bytes_ -= AlignUp(block.bytes(), kCardAlign);
  std::erase_if(ranges_, [&](const Range& range) { return range.begin == block.data(); });
}

bool GpuMemory::Contains(const void* begin, size_t bytes) const {
  const std::byte* first = static_cast<const std::byte*>(begin);
  MutexLock lock(&mutex_);
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), first,
                                [](const std::byte* a, const Range& b) { return a < b.begin; });
  if (after == ranges_.begin()) return false;
  const Range& range = *--after;
  const size_t offset = static_cast<size_t>(first - range.begin);
  return offset <= range.bytes && bytes <= range.bytes - offset;
}

}  // namespace berth::kernels::gpu
