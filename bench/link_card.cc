#include "bench/link_card.h"

#include <cstring>

#if defined(BERTH_BENCH_EMULATED)
#include "kernels/gpu/gpu_device.h"
#endif
#include "runtime/base/math.h"

namespace berth::bench {
namespace {

constexpr uint64_t kHead = 4096;              // a read may begin so many bytes early, less one
constexpr uint64_t kStreamBytes = 64u << 20;  // of card memory, for streams' workspaces
constexpr uint64_t kTensorHead = 32;          // heads are multiples of a GGUF's alignment

// Of tensor `t` in a host slot.
uint64_t HeadOf(uint32_t slot, size_t t) { return (slot * 5 + t * 3 + 1) * kTensorHead % kHead; }

}  // namespace

Result<std::unique_ptr<kernels::Device>> OpenLinkDevice(const kernels::DeviceOptions& options) {
#if defined(BERTH_BENCH_EMULATED)
  return kernels::OpenEmulatedDevice(options);
#else
  return kernels::OpenDevice(options);
#endif
}

uint64_t LinkShape::bytes() const {
  uint64_t sum = 0;
  for (const uint64_t tensor : tensors) sum += tensor;
  return sum;
}
uint64_t LinkShape::card_stride() const {
  uint64_t sum = 0;
  for (const uint64_t tensor : tensors) sum += AlignUp(tensor, kCardAlign);
  return sum;
}
uint64_t LinkShape::host_stride() const {
  uint64_t sum = 0;
  for (const uint64_t tensor : tensors) sum += AlignUp(tensor, kHead) + kHead;
  return sum;
}

Result<std::unique_ptr<LinkCard>> LinkCard::Open(const std::string& device,
                                                 kernels::CopyPath copy_path,
                                                 const LinkShape& shape, uint64_t extra_bytes) {
  std::unique_ptr<LinkCard> card(new LinkCard);
  card->shape_ = shape;
  arena::HostRegionOptions region;
  region.bytes = shape.units * shape.host_stride();
  region.purpose = "units to copy";
  BERTH_ASSIGN_OR_RETURN(card->region_, arena::HostRegion::Create(region));
  std::memset(card->region_.data(), 1, card->region_.bytes());
  const uint64_t bytes = shape.units * shape.card_stride() + extra_bytes;
  kernels::DeviceOptions options;
  options.name = device;
  options.memory_bytes = bytes + kStreamBytes;
  options.copy_path = copy_path;
  BERTH_ASSIGN_OR_RETURN(card->device_, OpenLinkDevice(options));
  BERTH_ASSIGN_OR_RETURN(card->memory_, card->device_->Allocate(bytes, "slots"));
  BERTH_RETURN_IF_ERROR(card->device_->RegisterHost(card->region_.data(), card->region_.bytes()));
  card->registered_ = true;
  return card;
}

LinkCard::~LinkCard() {
  if (registered_) (void)device_->UnregisterHost(region_.data());
}

std::vector<kernels::CopySegment> LinkCard::Tensors(uint32_t slot) const {
  std::vector<kernels::CopySegment> segments;
  std::byte* from = host(slot);
  std::byte* to = card(slot);
  for (size_t t = 0; t < shape_.tensors.size(); ++t) {
    const uint64_t bytes = shape_.tensors[t];
    segments.push_back({from + HeadOf(slot, t), to, bytes});
    from += AlignUp(bytes, kHead) + kHead;
    to += AlignUp(bytes, kCardAlign);
  }
  return segments;
}

std::vector<kernels::CopySegment> LinkCard::Whole(uint32_t slot) const {
  return {{host(slot), card(slot), shape_.bytes()}};
}

kernels::CopySegment LinkCard::All() const {
  return {host(0), card(0), shape_.units * shape_.card_stride()};
}

}  // namespace berth::bench
