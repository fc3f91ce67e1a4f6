// Which kernel a probe chooses on a card whose kernels are known: one that takes its time, one that
// does not, and one that does nothing and is the fastest by far.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/probe/probe.h"

namespace berth::probe {
namespace {

using namespace kernels;
using namespace std::chrono_literals;

class OddStream final : public Stream {
 public:
  explicit OddStream(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
  Status Copy(CopyDirection direction, std::span<const CopySegment> segments) override {
    return stream_->Copy(direction, segments);
  }
  Status UpdateTable(std::span<const TableEntry> entries) override {
    return stream_->UpdateTable(entries);
  }
  Status Run(const GroupedCall& call) override {
    if (call.kernel.kind == KernelKind::kPlain) return Status();
    // More than a busy machine makes of a call.
    if (call.kernel.kind == KernelKind::kMatrices) std::this_thread::sleep_for(20ms);
    return stream_->Run(call);
  }
  Status Reduce(const ReduceCall& call) override { return stream_->Reduce(call); }
  Status Record(Event* event) override { return stream_->Record(event); }
  Status Wait(Event* event) override { return stream_->Wait(event); }
  Status Notify(uint64_t token) override { return stream_->Notify(token); }
  Status Synchronize() override { return stream_->Synchronize(); }

 private:
  const std::unique_ptr<Stream> stream_;
};

class OddCard final : public Device {
 public:
  explicit OddCard(std::unique_ptr<Device> card) : card_(std::move(card)), info_(card_->info()) {
    info_.properties = "an odd card";
  }
  const DeviceInfo& info() const override { return info_; }
  uint64_t free_bytes() const override { return card_->free_bytes(); }
  Result<std::unique_ptr<DeviceMemory>> Allocate(size_t bytes, std::string_view purpose) override {
    return card_->Allocate(bytes, purpose);
  }
  Result<std::unique_ptr<Stream>> CreateStream(const StreamOptions& options) override {
    BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, card_->CreateStream(options));
    return std::unique_ptr<Stream>(std::make_unique<OddStream>(std::move(stream)));
  }
  uint64_t workspace_bytes() const override { return card_->workspace_bytes(); }
  Result<std::unique_ptr<Event>> CreateEvent() override { return card_->CreateEvent(); }
  Status CreateTable(uint32_t units) override { return card_->CreateTable(units); }
  std::vector<KernelChoice> Kernels(const ExpertSpec&, uint32_t, uint32_t) const override {
    return {{KernelKind::kMatrices}, {KernelKind::kDots}, {KernelKind::kPlain}};
  }
  Status RegisterHost(std::byte*, size_t) override {
    return refuses_copies && ++regions_ > 2 ? ResourceExhaustedError("no more memory to register")
                                            : Status();
  }
  Status UnregisterHost(std::byte*) override { return Status(); }

  bool refuses_copies = false;

 private:
  const std::unique_ptr<Device> card_;
  DeviceInfo info_;
  int regions_ = 0;
};

ProbeOptions Options(bool refuses_copies) {
  ProbeOptions options;
  options.device = "host:0";
  options.types = {"q8_0+q4_0"};
  options.shape = {.hidden = 512, .ffn = 128, .experts = 8, .top_k = 4};
  options.rows = {1, 4};
  options.memory_bytes = 64 << 20;
  options.copy_bytes = 1 << 20;
  options.threads = 1;
  options.timing = {.rounds = 5, .batch_s = 1e-4, .most_times = 8};
  options.open_device =
      [refuses_copies](const DeviceOptions& device) -> Result<std::unique_ptr<Device>> {
    BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Device> card, OpenDevice(device));
    auto odd = std::make_unique<OddCard>(std::move(card));
    odd->refuses_copies = refuses_copies;
    return std::unique_ptr<Device>(std::move(odd));
  };
  return options;
}

TEST(ProbeChoice, IsTheFastestOfThoseThatAreRight) {
  const auto report = RunProbe(Options(false));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  ASSERT_EQ(report->cells.size(), 2u);
  for (const ProbeCell& cell : report->cells) {
    ASSERT_EQ(cell.variants.size(), 3u);
    EXPECT_EQ(cell.chosen, 1u);
    EXPECT_FALSE(cell.variants[2].same_bits);
    EXPECT_EQ(cell.variants[2].seconds, 0);
    EXPECT_LT(cell.variants[1].seconds, cell.variants[0].seconds);
  }
  ASSERT_EQ(report->notes.size(), 2u);
  EXPECT_NE(report->notes[0].find("1 rows: plain gives other bits"), std::string::npos);
  ASSERT_EQ(report->measured.card->choices.size(), 2u);
  for (const MeasuredKernel& choice : report->measured.card->choices) {
    EXPECT_EQ(choice.kernel, KernelChoice{KernelKind::kDots});
  }
}

TEST(ProbeChoice, IsKeptWhereCopiesCannotBeTimed) {
  const auto report = RunProbe(Options(true));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->measured.card->choices.size(), 2u);
  EXPECT_FALSE(report->measured.link.has_value());
  EXPECT_EQ(report->notes.back(), "copies were not timed: no more memory to register");
}

}  // namespace
}  // namespace berth::probe
