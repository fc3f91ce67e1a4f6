// The virtual machine against times worked out by hand.
#include "runtime/simulate/virtual_machine.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/plan/memory_plan.h"

namespace berth {
namespace {

// One nanosecond a byte from storage, half of one over the link, a quarter in a kernel.
MachineProfile Plain() {
  MachineProfile profile;
  profile.storage.bytes_per_s = 1e9;
  profile.storage.latency_s = 1000e-9;
  LinkProfile link;
  link.card = "card:0";
  link.bytes_per_s = 2e9;
  link.issue_s = 100e-9;
  profile.links = {link};
  CardProfile card;
  card.card = "card:0";
  card.update_s = 50e-9;
  card.bytes_per_s = 4e9;
  profile.cards = {card};
  profile.host.round_trip_s = 10e-9;
  return profile;
}

// One layer of 12 experts of 4096 bytes, top-2, 6 slots a card.
class VirtualMachineTest : public ::testing::Test {
 protected:
  void Make(const MachineProfile& profile, uint32_t cards = 1) {
    const uint64_t bytes = 4096;
    const Result<ModelSizes> sizes = StatedSizes(1, 12, 2, std::span(&bytes, 1));
    ASSERT_TRUE(sizes.ok()) << sizes.status().ToString();
    options_.cards.clear();
    for (uint32_t c = 0; c < cards; ++c) {
      CardConfig card;
      card.device = "card:" + std::to_string(c);
      card.arena_bytes = 6 * bytes;
      options_.cards.push_back(card);
    }
    options_.policy = "lru";
    options_.max_in_flight = 1;
    PlanInputs inputs;
    inputs.options = &options_;
    inputs.model = &*sizes;
    inputs.profile = &profile;
    inputs.available_bytes = uint64_t{1} << 40;
    inputs.card_free_bytes.assign(cards, 1 << 20);
    Result<MemoryPlan> plan = PlanMemory(inputs);
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    auto machine =
        VirtualMachine::Create(MakeCosts(profile, options_.cards), std::move(plan->core));
    ASSERT_TRUE(machine.ok()) << machine.status().ToString();
    machine_ = std::move(*machine);
  }
  void Step(std::vector<int32_t> ids) {
    ASSERT_TRUE(machine_->Step(0, 1, ids, pass_++).ok());
    const Status ended = machine_->EndStep();
    ASSERT_TRUE(ended.ok()) << ended.ToString();
  }

  RuntimeOptions options_;
  std::unique_ptr<VirtualMachine> machine_;
  uint64_t pass_ = 0;
};

TEST_F(VirtualMachineTest, TwoMissesInTwoWavesThenTwoHits) {
  options_.chunk = 1;
  Make(Plain());
  Step({0, 1});
  // Decided at 10. Reads are served until 4106 and 8202, known at 5106 and 9202. Copies are issued
  // until 5206 and 9302, over at 7254 and 11350, published at 7304 and 11400. Waves of one unit end
  // at 8328 and 12424.
  EXPECT_EQ(machine_->now(), 12424u);
  Step({0, 1});
  EXPECT_EQ(machine_->now(), 12424u + 10 + 2048);
  const VirtualClock& clock = machine_->clock();
  EXPECT_EQ(clock.spent(VirtualClock::kCompute), 4096u);
  EXPECT_EQ(clock.spent(VirtualClock::kCopy), 2 * 2148u);
  EXPECT_EQ(clock.spent(VirtualClock::kRead), 9192u - 2148 - 1024);
  EXPECT_EQ(clock.spent(VirtualClock::kStep), 70u);  // two round trips, the last publication
  EXPECT_EQ(clock.spent(VirtualClock::kIdle), 0u);
  EXPECT_EQ(machine_->moved().storage, 8192u);
  EXPECT_EQ(machine_->moved().h2d, 8192u);
  EXPECT_EQ(machine_->core().counters().cards[0].hits, 2u);
}

TEST_F(VirtualMachineTest, OneWaveWaitsForBoth) {
  options_.chunk = 2;
  Make(Plain());
  Step({0, 1});
  EXPECT_EQ(machine_->now(), 11400u + 2048);
}

TEST_F(VirtualMachineTest, DriveIsFasterWithMoreInFlight) {
  MachineProfile profile = Plain();
  profile.storage.rates = {{4096}, {1, 2}, {1e9, 2e9}};
  Make(profile);
  Step({0, 1});
  // Both in flight until the first is known: 2048 each. Then as above.
  EXPECT_EQ(machine_->now(), 10u + 2 * 2048 + 1000 + 100 + 2048 + 50 + 2048);
  Step({2, 2});
  EXPECT_EQ(machine_->clock().now(), 9352u + 10 + 4096 + 1000 + 100 + 2048 + 50 + 1024);
}

TEST_F(VirtualMachineTest, CardsCopyAndComputeBesideEachOther) {
  Make(Plain(), 2);
  Step({0, 1});
  // Each card has one of the two units; card 1 is taken to be as card 0. The second read decides.
  EXPECT_EQ(machine_->now(), 11400u + 1024);
  EXPECT_EQ(machine_->core().counters().cards[0].misses, 1u);
  EXPECT_EQ(machine_->core().counters().cards[1].misses, 1u);
}

TEST_F(VirtualMachineTest, HostSendsUnitsOut) {
  MachineProfile profile = Plain();
  profile.host.dispatch_hit_s = 300e-9;
  profile.host.dispatch_staged_s = 700e-9;
  options_.chunk = 2;
  Make(profile);
  Step({0, 1});
  EXPECT_EQ(machine_->now(), 11400u + 2 * 700 + 2048);
  const Nanos before = machine_->now();
  Step({1, 0});
  EXPECT_EQ(machine_->now() - before, 10u + 2 * 300 + 2048);
  EXPECT_EQ(machine_->clock().spent(VirtualClock::kHost), 2u * 700 + 2 * 300);
}

// One nanosecond a byte on the host.
TEST_F(VirtualMachineTest, HostComputesBesideReadsAndCopies) {
  MachineProfile profile = Plain();
  profile.host.compute = {{1}, {0}, {1e9}};
  options_.miss = MissChoice::kHost;
  Make(profile);
  Step({0, 1});
  // Reads are known at 5106 and 9202. The host computes the first until then, the second after.
  EXPECT_EQ(machine_->now(), 9202u + 4096);
  const VirtualClock& clock = machine_->clock();
  EXPECT_EQ(clock.spent(VirtualClock::kHostCompute), 2 * 4096u);
  EXPECT_EQ(clock.spent(VirtualClock::kCompute), 0u);
  EXPECT_EQ(clock.spent(VirtualClock::kRead), 5096u);
  EXPECT_EQ(machine_->core().counters().cards[0].host_computed, 2u);
  EXPECT_EQ(machine_->core().counters().cards[0].behind_loads, 2u);
  // Both were loaded meanwhile.
  const Nanos before = machine_->now();
  Step({0, 1});
  EXPECT_EQ(machine_->now() - before, 10u + 2048);
  EXPECT_EQ(machine_->core().counters().cards[0].hits_late, 0u);
}

TEST_F(VirtualMachineTest, HostComputesMissesWhileTheCardComputesHits) {
  MachineProfile profile = Plain();
  profile.host.compute = {{1}, {0}, {1e9}};
  profile.cards[0].bytes_per_s = 1e8;  // ten nanoseconds a byte
  options_.miss = MissChoice::kHost;
  options_.host_tier_bytes = 1 << 20;
  Make(profile);
  for (int32_t e = 0; e < 12; ++e) Step({e, e});
  ASSERT_TRUE(machine_->Drain().ok());
  // Six are in the arena, all in RAM.
  const Nanos before = machine_->now();
  Step({11, 2});
  EXPECT_EQ(machine_->now() - before, 10u + 40960);
  EXPECT_EQ(machine_->core().counters().cards[0].host_computed, 13u);
}

TEST_F(VirtualMachineTest, HintedUnitsMoveWhileTheCallerRests) {
  Make(Plain());
  Step({0, 1});
  const std::vector<int32_t> hinted = {5};
  ASSERT_TRUE(machine_->Hint(0, hinted, pass_).ok());
  machine_->Rest(100'000);
  const Nanos before = machine_->now();
  Step({5, 0});
  EXPECT_EQ(machine_->now() - before, 10u + 2048);  // hits
  EXPECT_EQ(machine_->core().counters().cards[0].hits_late, 0u);
  // A miss that a hint began late is waited for as long as it still takes.
  ASSERT_TRUE(machine_->Hint(0, std::vector<int32_t>{6}, pass_).ok());
  const Nanos hint_at = machine_->now();
  Step({6, 0});
  EXPECT_EQ(machine_->core().counters().cards[0].hits_late, 1u);
  EXPECT_EQ(machine_->now(), hint_at + 4096 + 1000 + 100 + 2048 + 50 + 2048);
}

TEST_F(VirtualMachineTest, AStepOfNobodyTakesARoundTrip) {
  Make(Plain());
  Step({-1, -1});
  EXPECT_EQ(machine_->now(), 10u);
}

TEST(CostModelTest, SizesLieBetweenTheirNeighbours) {
  const std::vector<double> bytes = {100, 1000}, rates = {1e9, 2e9};
  const SizeTimes times(bytes, rates);
  EXPECT_EQ(NanosOf(times.Seconds(50)), 50u);
  EXPECT_EQ(NanosOf(times.Seconds(100)), 100u);
  EXPECT_EQ(NanosOf(times.Seconds(1000)), 500u);
  EXPECT_EQ(NanosOf(times.Seconds(4000)), 2000u);
  EXPECT_EQ(NanosOf(times.Seconds(550)), 300u);
  EXPECT_EQ(NanosOf(1e-9), 1u);
  EXPECT_EQ(NanosOf(1.001e-9), 2u);
  EXPECT_EQ(NanosOf(0), 0u);
}

TEST(CostModelTest, BothDirectionsShare) {
  LinkProfile link;
  link.bytes_per_s = 3e9;
  link.to_host_bytes_per_s = 1e9;
  link.both_bytes_per_s = 2e9;
  const LinkCosts costs(link, 0);
  EXPECT_EQ(costs.Copy(3000, 1, true, false), 1000u);
  EXPECT_EQ(costs.Copy(3000, 3, true, true), 2000u);
  EXPECT_EQ(costs.Copy(3000, 1, false, false), 3000u);
  EXPECT_EQ(costs.Copy(3000, 1, false, true), 6000u);
  EXPECT_EQ(LinkCosts(link, 6e9).Copy(3000, 1, true, false), 500u);
}

TEST(CostModelTest, KernelsByUnitsAndRows) {
  CardProfile card;
  card.unit_bytes = 1000;
  card.kernels = {{1, 10}, {1, 3}, {10e-9, 100e-9, 20e-9, 200e-9}};
  const CardCosts costs(card, HostProfile(), false);
  EXPECT_EQ(costs.Wave(1, 1000, 1), 10u);
  EXPECT_EQ(costs.Wave(10, 1000, 10), 100u);
  EXPECT_EQ(costs.Wave(20, 1000, 20), 200u);  // on along the line
  EXPECT_EQ(costs.Wave(10, 1000, 20), 150u);  // two rows a unit
  EXPECT_EQ(costs.Wave(10, 500, 10), 50u);    // smaller units
  HostProfile host;
  host.compute = {{1, 3}, {0}, {1e9, 0.5e9}};
  EXPECT_EQ(CardCosts(CardProfile(), host, true).Wave(2, 1000, 2), 2000u);
  EXPECT_EQ(CardCosts(CardProfile(), host, true).Wave(2, 1000, 20), 4000u);
}

}  // namespace
}  // namespace berth
