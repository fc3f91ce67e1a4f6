#include "arena/arena_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/math.h"

namespace berth::arena {
namespace {

constexpr uint64_t kLarge = 2'329'600;
constexpr uint64_t kSmall = 1'510'400;

bool Says(const Status& status, std::string_view part) {
  return status.message().find(part) != std::string_view::npos;
}
ArenaRequest Request(std::vector<ArenaClass> classes, uint64_t bytes, uint32_t top_k = 8) {
  return {"host:0", std::move(classes), bytes, /*ring_units=*/4, top_k};
}
// The number that a refusal says to raise --arena to.
uint64_t RaiseTo(const Status& status) {
  const std::string text(status.message());
  const std::string before = "raise --arena to at least ";
  const size_t at = text.find(before);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + before.size()));
}

// What holds for every plan.
void ExpectSound(const SlotPlan& plan, std::span<const ArenaClass> classes, uint64_t bytes,
                 uint64_t align) {
  ASSERT_EQ(plan.classes.size(), classes.size());
  uint64_t used = 0;
  uint32_t slots = 0;
  bool room = false;
  for (size_t c = 0; c < classes.size(); ++c) {
    const SlotClassPlan& got = plan.classes[c];
    EXPECT_EQ(got.slot_bytes, AlignUp(classes[c].unit_bytes, align));
    EXPECT_LE(got.slots, classes[c].units);
    EXPECT_GE(got.slots, got.minimum_slots);
    EXPECT_EQ(got.first_slot, slots);
    slots += got.slots;
    used += got.slots * got.slot_bytes;
    room |= got.slots < got.units && got.slot_bytes <= plan.left_over_bytes;
  }
  EXPECT_EQ(plan.slots, slots);
  EXPECT_EQ(plan.used_bytes, used);
  EXPECT_LE(used, bytes);
  EXPECT_EQ(plan.left_over_bytes, bytes - used);
  EXPECT_FALSE(room) << "a slot more would have fitted";
}

TEST(PlanArena, OneClassGetsAllThatFits) {
  const std::vector<ArenaClass> classes = {{kLarge, 512}};
  Result<ArenaPlan> plan = PlanArena(Request(classes, 190 * kLarge + 17));
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ExpectSound(plan->arena, classes, 190 * kLarge + 17, kCardAlign);
  EXPECT_EQ(plan->arena.slots, 190u);
  EXPECT_EQ(plan->arena.left_over_bytes, 17u);
  EXPECT_EQ(plan->arena.minimum_bytes, 24 * kLarge);
  EXPECT_EQ(plan->arena.full_bytes, 512 * kLarge);
  EXPECT_EQ(plan->ring_slots, 4u);
  EXPECT_EQ(plan->ring_bytes(), 4 * kLarge);
  EXPECT_EQ(plan->bytes(), 194 * kLarge);
}

TEST(PlanArena, ClassesHoldTheSameFractionOfTheirUnits) {
  // 30 layers of one size, 10 of another, 6 of a third.
  const std::vector<ArenaClass> classes = {{kLarge, 15360}, {2'176'000, 5120}, {kSmall, 3072}};
  const uint64_t bytes = 20'000'000'000;
  Result<ArenaPlan> plan = PlanArena(Request(classes, bytes, 10));
  ASSERT_TRUE(plan.ok());
  ExpectSound(plan->arena, classes, bytes, kCardAlign);
  const double fraction = static_cast<double>(bytes) / plan->arena.full_bytes;
  for (const SlotClassPlan& c : plan->arena.classes) {
    EXPECT_NEAR(c.slots, fraction * c.units, 2) << c.slot_bytes;
  }
  EXPECT_EQ(plan->ring_slot_bytes, kLarge);
}

TEST(PlanArena, SlotsAreRoundedUpTo256Bytes) {
  const std::vector<ArenaClass> classes = {{1000, 100}};
  Result<ArenaPlan> plan = PlanArena(Request(classes, 50 * 1024 + 1023));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena.classes[0].slot_bytes, 1024u);
  EXPECT_EQ(plan->arena.slots, 50u);
  EXPECT_EQ(plan->arena.left_over_bytes, 1023u);
}

TEST(PlanArena, NoClassGetsMoreSlotsThanUnitsTheRestGoesToOthers) {
  // Held at its minimum, the small class would leave; the full ones pass on what they cannot use.
  const std::vector<ArenaClass> shares = {{kLarge, 40, 10.0}, {kSmall, 400, 1.0}};
  Result<ArenaPlan> plan = PlanArena(Request(shares, 300 * kLarge));
  ASSERT_TRUE(plan.ok());
  ExpectSound(plan->arena, shares, 300 * kLarge, kCardAlign);
  EXPECT_EQ(plan->arena.classes[0].slots, 40u);
  EXPECT_EQ(plan->arena.classes[1].slots, 400u);
  Result<ArenaPlan> everything = PlanArena(Request(shares, 1'000'000'000'000));
  ASSERT_TRUE(everything.ok());
  EXPECT_EQ(everything->arena.used_bytes, everything->arena.full_bytes);
}

TEST(PlanArena, SharesDecideWhereTheyAreGiven) {
  const std::vector<ArenaClass> classes = {{1024, 1000, 3.0}, {1024, 1000, 1.0}};
  Result<ArenaPlan> plan = PlanArena(Request(classes, 400 * 1024));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena.classes[0].slots, 300u);
  EXPECT_EQ(plan->arena.classes[1].slots, 100u);
  for (double bad : {0.0, -1.0, std::nan("")}) {
    const Status status = PlanArena(Request({{1024, 9, 1.0}, {1024, 9, bad}}, 1 << 20)).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(Says(status, "shares")) << status.ToString();
  }
}

TEST(PlanArena, BelowTheMinimumSaysTheNumberAndTheNumberIsRight) {
  const Status status = PlanArena(Request({{kLarge, 512}}, 50'000'000, 10)).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* part : {"host:0", "an arena of 50.0 MB holds 21 slots of 2.33 MB",
                           "the minimum is 30 per size class (3 x top-10)", "69888000 (69.9 MB)"}) {
    EXPECT_TRUE(Says(status, part)) << status.ToString();
  }
  EXPECT_EQ(RaiseTo(status), 30 * kLarge);

  const std::vector<std::vector<ArenaClass>> cases = {
      {{kLarge, 512}, {kSmall, 512}},
      {{kLarge, 512, 1.0}, {kSmall, 512, 9.0}},
      {{kLarge, 5120, 0.3}, {kSmall, 7, 0.7}, {777, 512, 0.001}},
      {{kLarge, 15360}, {kSmall, 5}, {333, 512}},
  };
  for (const std::vector<ArenaClass>& classes : cases) {
    const uint64_t need = RaiseTo(PlanArena(Request(classes, 0)).status());
    ASSERT_GT(need, 0u);
    Result<ArenaPlan> plan = PlanArena(Request(classes, need));
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    ExpectSound(plan->arena, classes, need, kCardAlign);
    EXPECT_EQ(plan->arena.minimum_bytes, need);
    EXPECT_EQ(RaiseTo(PlanArena(Request(classes, need - 1)).status()), need);
  }
}

// Nobody asked for 0 B: the card's memory is too small, and that is what the message is about.
TEST(PlanArena, AnAutomaticArenaBelowTheMinimumNamesTheMemory) {
  ArenaRequest request = Request({{kLarge, 512}}, 0, 10);
  request.automatic = true;
  const Status status = PlanArena(request).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  // 30 slots and a ring of 4.
  for (const char* part :
       {"its memory leaves an arena of 0 B beside the ring",
        "raise --memory to at least 79206400 (79.2 MB)", "--ring", "--host-tier"}) {
    EXPECT_TRUE(Says(status, part)) << status.ToString();
  }
  EXPECT_FALSE(Says(status, "--arena")) << status.ToString();
  request.arena_bytes = 79'206'400 - 4 * kLarge;
  EXPECT_TRUE(PlanArena(request).ok());
}

TEST(PlanArena, ARingThatLeavesNoArenaIsToldANumberOfUnits) {
  ArenaRequest request = Request({{kLarge, 512}}, 0, 10);
  request.automatic = true;
  request.ring_units = 1'000'000'000;
  request.memory_bytes = 1'000'000'000;
  const Status status = PlanArena(request).status();
  EXPECT_TRUE(Says(status,
                   ": lower --ring to at most 399 units, or raise --memory to at least "
                   "2329600069888000 (2330 TB)"))
      << status.ToString();
  request.ring_units = 399;
  request.arena_bytes = request.memory_bytes - 399 * kLarge;
  EXPECT_TRUE(PlanArena(request).ok());
  request.arena_bytes -= kLarge;
  EXPECT_FALSE(PlanArena(request).ok());
}

TEST(PlanArena, ACardWithoutExpertsIsOneTooMany) {
  const Status status = PlanArena(Request({{kLarge, 0}, {kSmall, 0}}, 1 << 30)).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Says(status, "more cards than experts: give fewer --device")) << status.ToString();
}

TEST(PlanArena, AClassOfFewUnitsNeedsThemAllNotMore) {
  const Status status = PlanArena(Request({{1 << 20, 5}}, 1 << 20)).status();
  EXPECT_TRUE(Says(status, "the minimum is 5 (all units of that size)")) << status.ToString();
  EXPECT_EQ(RaiseTo(status), 5u << 20);
}

// In proportion this arena would give the small class 2 slots; it gets its 24 and the other pays.
TEST(PlanArena, MinimumsAreHeldBeforeProportions) {
  const std::vector<ArenaClass> classes = {{kLarge, 10000}, {kSmall, 200}};
  Result<ArenaPlan> plan = PlanArena(Request(classes, 200 * kLarge));
  ASSERT_TRUE(plan.ok());
  ExpectSound(plan->arena, classes, 200 * kLarge, kCardAlign);
  EXPECT_EQ(plan->arena.classes[1].slots, 24u);
  EXPECT_GE(plan->arena.classes[0].slots, 184u);
}

TEST(PlanArena, EverySizeGivesASoundPlan) {
  const std::vector<ArenaClass> classes = {
      {kLarge, 512}, {kSmall, 300}, {999'999, 40}, {70'001, 9}};
  const uint64_t need = PlanArena(Request(classes, UINT64_MAX / 4))->arena.minimum_bytes;
  uint32_t last = 0;
  for (uint64_t step = 0; step < 400; ++step) {
    const uint64_t bytes = need + step * 4'567'891;
    Result<ArenaPlan> plan = PlanArena(Request(classes, bytes));
    ASSERT_TRUE(plan.ok());
    ExpectSound(plan->arena, classes, bytes, kCardAlign);
    EXPECT_GE(plan->arena.classes[0].slots + 1, last);  // more bytes, not fewer slots
    last = plan->arena.classes[0].slots;
  }
}

TEST(PlanArena, RefusesWhatCannotBeCounted) {
  const auto code = [](const ArenaRequest& request) { return PlanArena(request).status().code(); };
  const StatusCode bad = StatusCode::kInvalidArgument;
  EXPECT_EQ(code(Request({}, 1 << 30)), bad);
  EXPECT_EQ(code(Request({{0, 10}}, 1 << 30)), bad);
  EXPECT_EQ(code(Request({{10, 0}}, 1 << 30)), bad);
  EXPECT_EQ(code(Request({{UINT64_MAX, 10}}, 1 << 30)), bad);
  EXPECT_EQ(code(Request({{UINT64_MAX / 8, 10}}, 1 << 30)), bad);
  EXPECT_EQ(code(Request({{256, UINT32_MAX}, {256, UINT32_MAX}}, 1 << 30)), bad);
  EXPECT_EQ(code(Request({{256, 10}}, 1 << 30, 0)), bad);
  EXPECT_EQ(code(Request({{256, 10}}, 1 << 30, UINT32_MAX)), bad);
  ArenaRequest ring = Request({{uint64_t{1} << 40, 10}}, uint64_t{1} << 50);
  ring.ring_units = UINT32_MAX;
  EXPECT_EQ(code(ring), bad);
}

TEST(PlanSlots, AHostTierWithoutASlotSaysFromWhereOnItHasOne) {
  const std::vector<ArenaClass> classes = {{kLarge, 9}, {kSmall, 9}};
  const uint64_t need = AlignUp(kSmall, kIoAlign);
  const std::string note = HostTierNote(*PlanSlots(classes, need - 1), need - 1);
  EXPECT_EQ(note, "host tier of " + std::to_string(need - 1) +
                      " bytes holds no unit: raise --host-tier to at least " +
                      std::to_string(need) + " (1.51 MB)");
  EXPECT_EQ(HostTierNote(*PlanSlots(classes, need), need), "");
  EXPECT_EQ(HostTierNote(*PlanSlots(classes, 0), 0), "");
}

TEST(PlanSlots, TheHostTierHasNoMinimum) {
  const std::vector<ArenaClass> classes = {{kLarge, 512}, {kSmall, 512}};
  Result<SlotPlan> none = PlanSlots(classes, 0);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->slots, 0u);
  EXPECT_EQ(none->minimum_bytes, 0u);
  Result<SlotPlan> one = PlanSlots(classes, 1'600'000);
  ASSERT_TRUE(one.ok());
  ExpectSound(*one, classes, 1'600'000, kIoAlign);
  EXPECT_EQ(one->classes[0].slots, 0u);
  EXPECT_EQ(one->classes[1].slots, 1u);
  Result<SlotPlan> some = PlanSlots(classes, 1'000'000'000);
  ASSERT_TRUE(some.ok());
  ExpectSound(*some, classes, 1'000'000'000, kIoAlign);
  EXPECT_NEAR(some->classes[0].slots, some->classes[1].slots, 2);
}

TEST(SlotsPerChunk, AtMostAGibibyteAndAtLeastOneSlot) {
  EXPECT_EQ(SlotsPerChunk(1 << 20), 1024u);
  EXPECT_EQ(SlotsPerChunk(kLarge), 460u);
  EXPECT_EQ(SlotsPerChunk(uint64_t{3} << 30), 1u);
  EXPECT_EQ(SlotsPerChunk(0), uint32_t{1} << 30);
}

}  // namespace
}  // namespace berth::arena
