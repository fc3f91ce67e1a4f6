// A card, memory of it, and registered host memory to copy from: what link_bench measures with.
#ifndef BERTH_BENCH_LINK_CARD_H_
#define BERTH_BENCH_LINK_CARD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arena/host_region.h"
#include "berth/status.h"
#include "kernels/device.h"

namespace berth::bench {

// kernels::OpenDevice; in the program that plays it, the emulated card.
Result<std::unique_ptr<kernels::Device>> OpenLinkDevice(const kernels::DeviceOptions& options);

// Slots of units on both sides. In a host slot every tensor lies as it was read, some bytes behind
// where it lies on the card.
struct LinkShape {
  std::vector<uint64_t> tensors;  // bytes of each
  uint32_t units = 128;

  uint64_t bytes() const;        // of a unit's tensors
  uint64_t card_stride() const;  // from one slot to the next
  uint64_t host_stride() const;
};

class LinkCard {
 public:
  // `extra_bytes` of card memory besides the slots and the streams' own.
  static Result<std::unique_ptr<LinkCard>> Open(const std::string& device,
                                                kernels::CopyPath copy_path, const LinkShape& shape,
                                                uint64_t extra_bytes);
  ~LinkCard();

  kernels::Device& device() { return *device_; }
  const LinkShape& shape() const { return shape_; }
  std::byte* host(uint32_t slot) const { return region_.data() + slot * shape_.host_stride(); }
  std::byte* card(uint32_t slot) const { return memory_->data() + slot * shape_.card_stride(); }
  std::byte* extra() const { return card(shape_.units); }
  // Copies of one unit: its tensors, or as many bytes in one piece.
  std::vector<kernels::CopySegment> Tensors(uint32_t slot) const;
  std::vector<kernels::CopySegment> Whole(uint32_t slot) const;
  // All slots in one piece.
  kernels::CopySegment All() const;

 private:
  LinkCard() = default;

  LinkShape shape_;
  arena::HostRegion region_;
  bool registered_ = false;
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<kernels::DeviceMemory> memory_;
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_LINK_CARD_H_
