// Sessions beside each other, leases and hints.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/catalog/catalog.h"
#include "scheduler/counters.h"
#include "tests/runtime/session_work.h"
#include "tests/runtime/small_model.h"

namespace berth::testing {
namespace {

constexpr uint32_t kWorks = 40;

// Two to three times the minimum: leases find room, and units keep leaving.
uint64_t RoomyArena() { return SmallModel::Get().minimum_arena * 5 / 2; }

std::unique_ptr<Catalog> SmallCatalog() {
  auto catalog = Catalog::Open(SmallModel::Get().gguf);
  EXPECT_TRUE(catalog.ok());
  return std::move(catalog).value();
}

bool HoldsUnit(const Catalog& catalog, UnitRef unit, const std::byte* address) {
  for (const Extent& extent : catalog.extents(catalog.unit(unit))) {
    const std::vector<std::byte> image = CardImage(catalog, catalog.unit(unit));
    if (std::memcmp(address + extent.card_offset, &image[extent.card_offset], extent.bytes) != 0) {
      return false;
    }
  }
  return true;
}

// What one caller does: its works in an order of its own, two under way at a time, with hints for
// what comes and a lease now and then. Returns how many outputs were wrong or failed.
uint32_t RunWorks(Runtime* runtime, const Catalog& catalog, uint32_t caller) {
  const auto session = runtime->NewSession();
  if (!session.ok()) return 1000;
  const auto& expected = ExpectedOutputs(kWorks);
  uint32_t wrong = 0;
  std::vector<Work> works;
  for (uint32_t i = 0; i < kWorks; ++i)
    works.emplace_back((i * (2 * caller + 1) + caller) % kWorks);
  std::optional<std::pair<uint32_t, Ticket>> pending;
  const auto finish = [&] {
    if (!pending) return;
    const uint32_t number = (pending->first * (2 * caller + 1) + caller) % kWorks;
    const Status done = (*session)->Wait(pending->second);
    const std::vector<float>& y = works[pending->first].y;
    const std::vector<float>& want = expected[number];
    if (!done.ok() || std::memcmp(y.data(), want.data(), want.size() * sizeof(float)) != 0) ++wrong;
    pending.reset();
  };
  for (uint32_t i = 0; i < kWorks; ++i) {
    Lease lease;
    UnitRef leased{i % kLayers, (i * 7 + caller) % kExperts};
    if (i % 6 == 5) {
      Result<Lease> acquired = (*session)->Acquire({&leased, 1});
      if (acquired.ok()) lease = std::move(acquired).value();
    }
    const auto ticket = (*session)->Enqueue(works[i].Prepare(i));
    if (!ticket.ok()) return 2000;
    if (i + 1 < kWorks && !(*session)->Hint(works[i + 1].layer, works[i + 1].ids, i).ok()) ++wrong;
    finish();
    pending = {i, *ticket};
    if (lease.held()) {
      if (!lease.Wait().ok() || !HoldsUnit(catalog, leased, lease.address(0))) ++wrong;
    }
  }
  finish();
  return wrong;
}

class SessionCount : public ::testing::TestWithParam<uint32_t> {};

TEST_P(SessionCount, EachGetsWhatItWouldGetAlone) {
  const uint32_t callers = GetParam();
  const auto catalog = SmallCatalog();
  ExpectedOutputs(kWorks);
  RuntimeOptions options = SessionOptionsOf(SmallModel::Get().gguf, RoomyArena());
  options.max_sessions = callers;
  SetCards(2, &options);
  options.host_tier_bytes = 600'000;
  options.host_exclusive = callers == 4;
  const auto runtime = OpenRuntime(options);
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] { wrong += RunWorks(runtime->get(), *catalog, caller); });
  }
  for (uint32_t i = 0; i < 20; ++i) (void)(*runtime)->stats();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  (*runtime)->Close();
  const Stats stats = (*runtime)->stats();
  const Status balance = scheduler::CheckBalance(stats.counters);
  EXPECT_TRUE(balance.ok()) << balance.ToString();
  EXPECT_EQ(stats.counters.steps, uint64_t{callers} * kWorks);
  EXPECT_EQ(stats.counters.failed_steps, 0u);
  EXPECT_GT(stats.counters.leases, 0u);
}

INSTANTIATE_TEST_SUITE_P(Threads, SessionCount, ::testing::Values(1, 2, 4));

TEST(SessionLease, AddressesAndBytesStayWhileOthersChurn) {
  const auto catalog = SmallCatalog();
  RuntimeOptions options = SessionOptionsOf(SmallModel::Get().gguf, RoomyArena());
  options.max_sessions = 2;
  const auto runtime = OpenRuntime(options);
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto keeper = (*runtime)->NewSession();
  ASSERT_TRUE(keeper.ok());
  const std::vector<UnitRef> units = {{0, 3}, {1, 20}, {2, 3}, {3, kUnusedExpert}};
  Result<Lease> lease = (*keeper)->Acquire(units);
  ASSERT_TRUE(lease.ok()) << lease.status().ToString();
  ASSERT_TRUE(lease->Wait().ok());
  std::vector<const std::byte*> addresses;
  for (size_t i = 0; i < units.size(); ++i) {
    addresses.push_back(lease->address(i));
    ASSERT_NE(addresses.back(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(addresses.back()) % 256, 0u);
    EXPECT_EQ(lease->card(i), 0u);
  }
  EXPECT_EQ(lease->address(units.size()), nullptr);
  std::thread churn([&] {
    const auto session = (*runtime)->NewSession();
    for (uint32_t i = 0; session.ok() && i < kWorks; ++i) {
      Work work(i);
      const auto ticket = (*session)->Enqueue(work.Prepare());
      EXPECT_TRUE(ticket.ok() && (*session)->Wait(*ticket).ok());
    }
  });
  for (uint32_t round = 0; round < 10; ++round) {
    for (size_t i = 0; i < units.size(); ++i) {
      EXPECT_EQ(lease->address(i), addresses[i]);
      EXPECT_TRUE(HoldsUnit(*catalog, units[i], addresses[i]));
    }
  }
  churn.join();
  EXPECT_GT((*runtime)->stats().counters.cards[0].evicted, 20u);
  for (size_t i = 0; i < units.size(); ++i) {
    EXPECT_EQ(lease->address(i), addresses[i]);
    EXPECT_TRUE(HoldsUnit(*catalog, units[i], addresses[i]));
  }
}

TEST(SessionLease, TooManyAreRefusedAndPinsComeBack) {
  const auto runtime = OpenRuntime(SessionOptionsOf(SmallModel::Get().gguf, RoomyArena()));
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  const uint32_t slots = (*runtime)->info().cards[0].class_slots[0];
  ASSERT_GT(slots, 3 * kTopK);
  ASSERT_LT(slots, 2 * kExperts);
  for (int round = 0; round < 3; ++round) {
    std::vector<Lease> held;
    Status refused;
    for (uint32_t u = 0; u < 2 * kExperts && refused.ok(); ++u) {
      const UnitRef unit{u / kExperts, u % kExperts};
      Result<Lease> lease = (*session)->Acquire({&unit, 1});
      if (lease.ok()) {
        held.push_back(std::move(lease).value());
      } else {
        refused = lease.status();
      }
    }
    EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
    EXPECT_NE(refused.message().find("3 x top-k"), std::string::npos) << refused.ToString();
    EXPECT_EQ(held.size(), slots - 3 * kTopK);
    // Steps still run beside them.
    Work work(0);
    const auto ticket = (*session)->Enqueue(work.Prepare());
    ASSERT_TRUE(ticket.ok());
    EXPECT_TRUE((*session)->Wait(*ticket).ok());
    EXPECT_EQ(work.y, ExpectedOutputs(1)[0]);
    // Half are released before they are ready, perhaps; the rest by their destructors.
    for (size_t i = 0; i < held.size() / 2; ++i) held[i].Release();
  }
  EXPECT_EQ((*runtime)->stats().counters.leases_refused, 3u);

  const UnitRef twice[] = {{0, 0}, {0, 0}};
  EXPECT_EQ((*session)->Acquire(twice).status().code(), StatusCode::kInvalidArgument);
  const UnitRef beyond[] = {{0, kExperts}};
  EXPECT_EQ((*session)->Acquire(beyond).status().code(), StatusCode::kOutOfRange);
  EXPECT_EQ((*session)->Acquire({}).status().code(), StatusCode::kInvalidArgument);
  Lease empty;
  EXPECT_FALSE(empty.held());
  EXPECT_FALSE(empty.Wait().ok());
  EXPECT_EQ(empty.address(0), nullptr);
}

TEST(SessionHint, WhatWasHintedIsHit) {
  RuntimeOptions options = SessionOptionsOf(SmallModel::Get().gguf, 64u << 20);
  const auto runtime = OpenRuntime(options);
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  Work work(0);
  ASSERT_TRUE((*session)->Hint(work.layer, work.ids, 0).ok());
  const auto ticket = (*session)->Enqueue(work.Prepare());
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE((*session)->Wait(*ticket).ok());
  EXPECT_EQ(work.y, ExpectedOutputs(1)[0]);
  CardCounters card = (*runtime)->stats().counters.cards[0];
  EXPECT_EQ(card.prefetch_admitted, kTopK);
  EXPECT_EQ(card.hits, kTopK);
  EXPECT_EQ(card.misses, 0u);
  EXPECT_GT(card.bytes_h2d_prefetch, 0u);
  EXPECT_EQ(card.bytes_h2d_demand, 0u);

  ASSERT_TRUE((*session)->Hint(work.layer, work.ids, 0).ok());
  EXPECT_EQ((*runtime)->stats().counters.cards[0].prefetch_resident, kTopK);
  EXPECT_EQ((*session)->Hint(kLayers, work.ids, 0).code(), StatusCode::kOutOfRange);
  const int32_t beyond[] = {kExperts};
  EXPECT_EQ((*session)->Hint(0, beyond, 0).code(), StatusCode::kOutOfRange);
  const int32_t nobody[] = {kNoExpert};
  EXPECT_TRUE((*session)->Hint(0, nobody, 0).ok());
}

// Between one step and the next only so many are taken; the others are counted as dropped.
TEST(SessionHint, WhatIsTooMuchIsDroppedAndCounted) {
  const auto runtime = OpenRuntime(SessionOptionsOf(SmallModel::Get().gguf, 64u << 20));
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  std::vector<int32_t> all;
  for (int32_t id = 0; id < static_cast<int32_t>(kExperts); ++id) all.push_back(id);
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    ASSERT_TRUE((*session)->Hint(layer, all, 0).ok());
  }
  const CardCounters card = (*runtime)->stats().counters.cards[0];
  EXPECT_EQ(card.prefetch_admitted, 64u);
  EXPECT_EQ(card.prefetch_dropped, kLayers * kExperts - 64);
  (*runtime)->Close();
  EXPECT_TRUE(scheduler::CheckBalance((*runtime)->stats().counters).ok());
}

}  // namespace
}  // namespace berth::testing
