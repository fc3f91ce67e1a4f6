#include "kernels/gpu/host_ranges.h"

#include <algorithm>

#include "kernels/gpu/gpu_status.h"
#include "runtime/base/check.h"
#include "runtime/base/format.h"

namespace berth::kernels::gpu {

HostRegistry& HostRegistry::Get() {
  static HostRegistry* const registry = new HostRegistry;  // outlives every device
  return *registry;
}

Status HostRegistry::RegisterPieces(std::byte* begin, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kRegisterBytes) {
    const size_t piece = std::min(kRegisterBytes, bytes - at);
    const Status status = GpuStatus(
        gpuHostRegister(begin + at, piece, gpuHostRegisterPortable | gpuHostRegisterMapped),
        "registering " + FormatBytes(piece) + " of host memory", "HostRegister");
    if (status.ok()) continue;
    while (at > 0) {
      at -= kRegisterBytes;
      if (gpuHostUnregister(begin + at) != gpuSuccess) (void)gpuGetLastError();
    }
    return status;
  }
  return Status();
}

Status HostRegistry::Register(std::byte* begin, size_t bytes) {
  MutexLock lock(&mutex_);
  for (Range& range : ranges_) {
    if (range.begin == begin && range.bytes == bytes) {
      ++range.users;
      return Status();
    }
    if (begin < range.begin + range.bytes && range.begin < begin + bytes) {
      return InvalidArgumentError("host memory overlaps what is registered already");
    }
  }
  BERTH_RETURN_IF_ERROR(RegisterPieces(begin, bytes));
  ranges_.push_back({begin, bytes, 1});
  return Status();
}

Status HostRegistry::Unregister(std::byte* begin) {
  MutexLock lock(&mutex_);
  const auto at = std::find_if(ranges_.begin(), ranges_.end(),
                               [&](const Range& range) { return range.begin == begin; });
  BERTH_CHECK(at != ranges_.end());
  if (--at->users > 0) return Status();
  Status status;
  for (size_t end = at->bytes; end > 0;) {
    end = (end - 1) / kRegisterBytes * kRegisterBytes;
    Status piece = GpuStatus(gpuHostUnregister(begin + end), "host memory", "HostUnregister");
    if (status.ok()) status = std::move(piece);
  }
  ranges_.erase(at);
  return status;
}

HostRanges::~HostRanges() {
  MutexLock lock(&mutex_);
  // Somebody who opened in part may not have given back all.
  const ScopedCard card(ordinal_);
  for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
    (void)HostRegistry::Get().Unregister(range->begin);
  }
}

// The pieces must lie behind one another in the card's addresses too.
Status HostRanges::Map(Range* range) const {
  for (size_t at = 0; at < range->bytes; at += kRegisterBytes) {
    void* on_card = nullptr;
    BERTH_RETURN_IF_ERROR(GpuStatus(gpuHostGetDevicePointer(&on_card, range->begin + at, 0),
                                    "registered host memory", "HostGetDevicePointer"));
    const ptrdiff_t to_card =
        reinterpret_cast<intptr_t>(on_card) - reinterpret_cast<intptr_t>(range->begin + at);
    if (at == 0) range->to_card = to_card;
    if (range->to_card != to_card) {
      return UnavailableError("the card sees registered host memory of more than " +
                              FormatBytes(kRegisterBytes) + " in pieces: lower --host-tier");
    }
  }
  return Status();
}

Status HostRanges::Register(std::byte* begin, size_t bytes) {
  if (begin == nullptr || bytes == 0) {
    return InvalidArgumentError("card " + card_ + ": no host memory to register");
  }
  const ScopedCard card(ordinal_);
  MutexLock lock(&mutex_);
  const auto known = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const Range& range) { return range.begin == begin; });
  if (known != ranges_.end()) {
    return InvalidArgumentError("card " + card_ + ": this host memory is registered already");
  }
  BERTH_RETURN_IF_ERROR(HostRegistry::Get().Register(begin, bytes).Annotate("card " + card_));
  Range range{begin, bytes, 0};
  if (Status status = Map(&range); !status.ok()) {
    (void)HostRegistry::Get().Unregister(begin);
    return status.Annotate("card " + card_);
  }
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                   [](const Range& a, std::byte* b) { return a.begin < b; });
  ranges_.insert(at, range);
  return Status();
}

Status HostRanges::Unregister(std::byte* begin) {
  const ScopedCard card(ordinal_);
  MutexLock lock(&mutex_);
  const auto at = std::find_if(ranges_.begin(), ranges_.end(),
                               [&](const Range& range) { return range.begin == begin; });
  if (at == ranges_.end()) {
    return InvalidArgumentError("card " + card_ + ": this host memory is not registered");
  }
  ranges_.erase(at);
  return HostRegistry::Get().Unregister(begin).Annotate("card " + card_);
}

const HostRanges::Range* HostRanges::Find(const void* begin, size_t bytes) const {
  const std::byte* first = static_cast<const std::byte*>(begin);
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), first,
                                [](const std::byte* a, const Range& b) { return a < b.begin; });
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *--after;
  const size_t offset = static_cast<size_t>(first - range.begin);
  return offset <= range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

const std::byte* HostRanges::OnCard(const void* begin, size_t bytes) const {
  MutexLock lock(&mutex_);
  const Range* range = Find(begin, bytes);
  return range == nullptr ? nullptr : static_cast<const std::byte*>(begin) + range->to_card;
}

size_t HostRanges::PieceLeft(const std::byte* begin) const {
  MutexLock lock(&mutex_);
  const Range* range = Find(begin, 1);
  if (range == nullptr) return 0;
  const size_t offset = static_cast<size_t>(begin - range->begin);
  return std::min(range->bytes - offset, kRegisterBytes - offset % kRegisterBytes);
}

}  // namespace berth::kernels::gpu
