#include "arena/card_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/device.h"

namespace berth::arena {
namespace {

using kernels::Device;

std::unique_ptr<Device> Card(uint64_t memory_bytes) {
  kernels::DeviceOptions options;
  options.memory_bytes = memory_bytes;
  options.threads = 1;
  Result<std::unique_ptr<Device>> device = kernels::OpenDevice(options);
  EXPECT_TRUE(device.ok()) << device.status().ToString();
  return std::move(*device);
}
ArenaPlan Plan(uint64_t arena_bytes, uint32_t ring_units) {
  const ArenaRequest request{"host:0", {{30'000, 64}, {11'111, 64}}, arena_bytes, ring_units, 4};
  Result<ArenaPlan> plan = PlanArena(request);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  return *plan;
}

TEST(CardArena, SlotsAreApartAlignedWrittenAndNumberedThrough) {
  std::unique_ptr<Device> device = Card(4 << 20);
  const ArenaPlan plan = Plan(1 << 20, 5);
  Result<std::unique_ptr<CardArena>> made = CardArena::Create(device.get(), plan);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  const CardArena& arena = **made;
  EXPECT_EQ(device->free_bytes(), (4 << 20) - plan.bytes());

  std::vector<std::pair<std::byte*, uint64_t>> slots;
  for (uint32_t c = 0; c < 2; ++c) {
    const SlotClassPlan& of = arena.plan().arena.classes[c];
    ASSERT_GE(of.slots, 12u);
    for (SlotIndex i = 0; i < of.slots; ++i) {
      EXPECT_EQ(arena.slot(of.first_slot + i), arena.slot(c, i));
      slots.emplace_back(arena.slot(c, i), of.slot_bytes);
    }
  }
  for (uint32_t i = 0; i < 5; ++i) slots.emplace_back(arena.ring_slot(i), plan.ring_slot_bytes);
  std::sort(slots.begin(), slots.end());
  for (size_t i = 0; i < slots.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slots[i].first) % 256, 0u);
    if (i > 0) {
      EXPECT_LE(slots[i - 1].first + slots[i - 1].second, slots[i].first);
    }
    // Readable on the host backend.
    EXPECT_EQ(slots[i].first[0], std::byte{0xFF});
    EXPECT_EQ(slots[i].first[slots[i].second - 1], std::byte{0xFF});
  }
  made->reset();
  EXPECT_EQ(device->free_bytes(), 4u << 20);
}

TEST(CardArena, ACardThatIsTooSmallSaysWhatToLower) {
  std::unique_ptr<Device> device = Card(1 << 20);
  const Status status = CardArena::Create(device.get(), Plan(1 << 20, 20)).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("lower --arena or --ring"), std::string_view::npos)
      << status.ToString();
  EXPECT_EQ(device->free_bytes(), 1u << 20);
  // The number it says is enough.
  const std::string text(status.message());
  const std::string before = "raise --memory to at least ";
  ASSERT_NE(text.find(before), std::string::npos) << text;
  const uint64_t need = std::stoull(text.substr(text.find(before) + before.size()));
  EXPECT_TRUE(CardArena::Create(Card(need).get(), Plan(1 << 20, 20)).ok());
  EXPECT_FALSE(CardArena::Create(Card(need - 1).get(), Plan(1 << 20, 20)).ok());
}

// Writing the slots once is no transfer: at the link's rate it would take ten seconds.
TEST(CardArena, IsNotFilledThroughTheLink) {
  kernels::DeviceOptions options;
  options.memory_bytes = 4 << 20;
  options.link_bytes_per_s = 100'000;
  options.threads = 1;
  Result<std::unique_ptr<Device>> device = kernels::OpenDevice(options);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(CardArena::Create(device->get(), Plan(1 << 20, 2)).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

TEST(CardArena, WorksWithoutARing) {
  std::unique_ptr<Device> device = Card(1 << 20);
  EXPECT_TRUE(CardArena::Create(device.get(), Plan(1 << 20, 0)).ok());
}

// A device that hands out addresses without memory behind them, to see the chunks of a large slab.
class PaperDevice final : public Device {
 public:
  struct Block final : kernels::DeviceMemory {
    std::byte* data() const override { return begin; }
    size_t bytes() const override { return length; }
    std::byte* begin = nullptr;
    size_t length = 0;
  };
  const kernels::DeviceInfo& info() const override { return info_; }
  uint64_t free_bytes() const override { return UINT64_MAX; }
  Result<std::unique_ptr<kernels::DeviceMemory>> Allocate(size_t bytes, std::string_view) override {
    auto block = std::make_unique<Block>();
    block->begin = reinterpret_cast<std::byte*>(uintptr_t{1} << 40 << blocks.size());
    block->length = bytes;
    blocks.push_back(bytes);
    return std::unique_ptr<kernels::DeviceMemory>(std::move(block));
  }
  Result<std::unique_ptr<kernels::Stream>> CreateStream(const kernels::StreamOptions&) override {
    return UnimplementedError("paper");
  }
  uint64_t workspace_bytes() const override { return 0; }
  Result<std::unique_ptr<kernels::Event>> CreateEvent() override {
    return UnimplementedError("paper");
  }
  Status CreateTable(uint32_t) override { return UnimplementedError("paper"); }
  Status RegisterHost(std::byte*, size_t) override { return Status(); }
  Status UnregisterHost(std::byte*) override { return Status(); }

  std::vector<uint64_t> blocks;

 private:
  kernels::DeviceInfo info_;
};

TEST(CardSlab, IsCutIntoChunksThatNoSlotStraddles) {
  PaperDevice device;
  constexpr uint64_t kSlot = 2'329'600;
  Result<CardSlab> slab = CardSlab::Create(&device, kSlot, 1000, "slots");
  ASSERT_TRUE(slab.ok());
  EXPECT_EQ(device.blocks, (std::vector<uint64_t>{460 * kSlot, 460 * kSlot, 80 * kSlot}));
  const auto at = [&](SlotIndex i) { return reinterpret_cast<uintptr_t>(slab->slot(i)); };
  EXPECT_EQ(at(0), uintptr_t{1} << 40);
  EXPECT_EQ(at(459), (uintptr_t{1} << 40) + 459 * kSlot);
  EXPECT_EQ(at(460), uintptr_t{1} << 41);
  EXPECT_EQ(at(999), (uintptr_t{1} << 42) + 79 * kSlot);
}

TEST(CardArena, AFailureWhileFillingIsReported) {
  PaperDevice device;
  const Status status = CardArena::Create(&device, Plan(1 << 20, 1)).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status.ToString();
}

}  // namespace
}  // namespace berth::arena
