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
  Block(CardLedger* ledger, int ordinal, std::byte* data, size_t bytes)
      : ledger_(ledger), ordinal_(ordinal), data_(data), bytes_(bytes) {
    ledger_->Add(data_, bytes_);
  }
  ~Block() override {
    ledger_->Remove(data_, bytes_);
    const ScopedCard card(ordinal_);
    if (gpuFree(data_) != gpuSuccess) (void)gpuGetLastError();  // of a lost card
  }
  std::byte* data() const override { return data_; }
  size_t bytes() const override { return bytes_; }

 private:
  CardLedger* ledger_;
  int ordinal_;
  std::byte* data_;
  size_t bytes_;
};

Result<std::unique_ptr<DeviceMemory>> GpuMemory::Allocate(size_t bytes, std::string_view purpose) {
  BERTH_RETURN_IF_ERROR(ledger_.Charge(bytes, purpose));
  const std::string what = ledger_.What(purpose);
  void* data = nullptr;
  Status status;
  {
    const ScopedCard card(ordinal_);
    status = card.error() != gpuSuccess ? GpuStatus(card.error(), what, "SetDevice")
                                        : GpuStatus(gpuMalloc(&data, AlignUp(bytes, kCardAlign)),
                                                    what + " of " + FormatBytes(bytes), "Malloc");
  }
  if (!status.ok()) {
    ledger_.Refund(bytes);
    if (status.code() != StatusCode::kResourceExhausted) return status;
    return ResourceExhaustedError(std::string(status.message()) +
                                  ": lower --arena, --ring or --memory");
  }
  BERTH_CHECK(reinterpret_cast<uintptr_t>(data) % kCardAlign == 0);
  return std::unique_ptr<DeviceMemory>(
      std::make_unique<Block>(&ledger_, ordinal_, static_cast<std::byte*>(data), bytes));
}

}  // namespace berth::kernels::gpu
