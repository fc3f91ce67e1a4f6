#include "runtime/probe/link_probe.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "runtime/base/math.h"
#include "runtime/probe/probe_memory.h"

namespace berth::probe {

using kernels::CopyDirection;

namespace {

constexpr uint64_t kSizes[] = {64 << 10, 256 << 10, 1 << 20, 16 << 20};
constexpr uint64_t kTinyCopy = 256;

class Link {
 public:
  static Result<std::unique_ptr<Link>> Create(kernels::Device* device, uint64_t bytes) {
    std::unique_ptr<Link> made(new Link());
    BERTH_ASSIGN_OR_RETURN(made->in_host_, RegisteredRegion::Create(device, bytes, "copies in"));
    BERTH_ASSIGN_OR_RETURN(made->out_host_, RegisteredRegion::Create(device, bytes, "copies out"));
    BERTH_ASSIGN_OR_RETURN(made->in_card_, device->Allocate(bytes, "copies in"));
    BERTH_ASSIGN_OR_RETURN(made->out_card_, device->Allocate(bytes, "copies out"));
    BERTH_ASSIGN_OR_RETURN(made->in_, ProbeStream::Create(device, {}));
    BERTH_ASSIGN_OR_RETURN(made->out_, ProbeStream::Create(device, {}));
    made->bytes_ = bytes;
    // Both sides have been written once.
    for (const bool to_card : {true, false}) {
      BERTH_RETURN_IF_ERROR(made->Copies(to_card, !to_card, bytes, 1).status());
    }
    return made;
  }

  // Seconds of so many copies of a size one behind the other, over all of the buffers.
  Result<double> Copies(bool in, bool out, uint64_t size, uint32_t times) {
    const double begin = SecondsNow();
    for (uint32_t i = 0; i < times; ++i) {
      const uint64_t at = i % (bytes_ / size) * size;
      if (in) {
        BERTH_RETURN_IF_ERROR(Copy(in_.get(), CopyDirection::kToCard, in_host_.data() + at,
                                   in_card_->data() + at, size));
      }
      if (out) {
        BERTH_RETURN_IF_ERROR(Copy(out_.get(), CopyDirection::kToHost, out_card_->data() + at,
                                   out_host_.data() + at, size));
      }
    }
    if (in) BERTH_RETURN_IF_ERROR(in_->Synchronize());
    if (out) BERTH_RETURN_IF_ERROR(out_->Synchronize());
    return SecondsNow() - begin;
  }

 private:
  Link() = default;
  static Status Copy(ProbeStream* stream, CopyDirection direction, const std::byte* from,
                     std::byte* to, uint64_t bytes) {
    const kernels::CopySegment segment = {from, to, bytes};
    return stream->get()->Copy(direction, {&segment, 1});
  }

  uint64_t bytes_ = 0;
  RegisteredRegion in_host_, out_host_;
  std::unique_ptr<kernels::DeviceMemory> in_card_, out_card_;
  std::unique_ptr<ProbeStream> in_, out_;
};

// Bytes a second, of both directions together.
Result<double> RateOf(Link* link, bool in, bool out, uint64_t size, const TimingOptions& timing) {
  BERTH_ASSIGN_OR_RETURN(const double seconds, TimeAlone(timing, [&](uint32_t times) {
                           return link->Copies(in, out, size, times);
                         }));
  return static_cast<double>(size) * ((in ? 1 : 0) + (out ? 1 : 0)) / seconds;
}

}  // namespace

Result<LinkProfile> ProbeLink(kernels::Device* device, std::span<const uint64_t> unit_bytes,
                              uint64_t buffer_bytes, const TimingOptions& timing) {
  std::set<uint64_t> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.insert(unit_bytes.begin(), unit_bytes.end());
  while (sizes.size() > 1 && *sizes.rbegin() > buffer_bytes) sizes.erase(*sizes.rbegin());
  BERTH_ASSIGN_OR_RETURN(
      const std::unique_ptr<Link> link,
      Link::Create(device, std::max(buffer_bytes, AlignUp(*sizes.rbegin(), kCardAlign))));
  LinkProfile profile;
  profile.card = device->info().name;
  profile.rates.y = {0};
  for (const uint64_t size : sizes) {
    BERTH_ASSIGN_OR_RETURN(const double rate, RateOf(link.get(), true, false, size, timing));
    profile.rates.x.push_back(static_cast<double>(size));
    profile.rates.value.push_back(rate);
  }
  const uint64_t largest = *sizes.rbegin();
  profile.bytes_per_s = profile.rates.value.back();
  BERTH_ASSIGN_OR_RETURN(profile.to_host_bytes_per_s,
                         RateOf(link.get(), false, true, largest, timing));
  BERTH_ASSIGN_OR_RETURN(profile.both_bytes_per_s, RateOf(link.get(), true, true, largest, timing));
  // Copies so small that handing them over is all that takes time.
  const auto tiny = [&](uint32_t times) { return link->Copies(true, false, kTinyCopy, times); };
  BERTH_ASSIGN_OR_RETURN(const double issue, TimeAlone(timing, tiny));
  TimingOptions alone = timing;
  alone.most_times = 1;
  alone.rounds *= 3;
  BERTH_ASSIGN_OR_RETURN(const double round_trip, TimeAlone(alone, tiny));
  profile.issue_s = issue;
  profile.latency_s = std::max(0.0, round_trip - issue);
  return profile;
}

Status ProbeCopyPath(kernels::Device* device, kernels::Device* by_kernel, uint64_t unit_bytes,
                     uint64_t buffer_bytes, const TimingOptions& timing, LinkProfile* profile) {
  const uint64_t bytes = std::max(buffer_bytes, AlignUp(unit_bytes, kCardAlign));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Link> engine, Link::Create(device, bytes));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Link> kernel, Link::Create(by_kernel, bytes));
  BERTH_ASSIGN_OR_RETURN(
      const std::vector<double> seconds, TimeInTurns(2, timing, [&](size_t path, uint32_t times) {
        return (path == 0 ? engine : kernel)->Copies(true, false, unit_bytes, times);
      }));
  profile->copy_path = ChooseFastest(seconds) == 0 ? "engine" : "kernel";
  profile->kernel_bytes_per_s = static_cast<double>(unit_bytes) / seconds[1];
  return Status();
}

Result<double> ProbeTable(kernels::Device* device, const TimingOptions& timing) {
  BERTH_RETURN_IF_ERROR(device->CreateTable(kernels::kMaxTableEntries));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<ProbeStream> stream,
                         ProbeStream::Create(device, {}));
  return TimeAlone(timing, [&](uint32_t times) -> Result<double> {
    const double begin = SecondsNow();
    for (uint32_t i = 0; i < times; ++i) {
      const kernels::TableEntry entry = {i % uint32_t{kernels::kMaxTableEntries}, nullptr};
      BERTH_RETURN_IF_ERROR(stream->get()->UpdateTable({&entry, 1}));
    }
    BERTH_RETURN_IF_ERROR(stream->Synchronize());
    return SecondsNow() - begin;
  });
}

}  // namespace berth::probe
