#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "io/storage/fault_storage.h"
#include "io/storage/memory_storage.h"
#include "tests/io/storage_test_util.h"

namespace berth::io {
namespace {

constexpr uint32_t kPage = 4096;
constexpr uint32_t kReads = 64;
constexpr uint32_t kSpan = 4 * kPage;

class FaultStorageTest : public ::testing::Test {
 protected:
  std::unique_ptr<FaultStorage> Open(const FaultPlan& plan) {
    StorageOptions options;
    options.paths = {"model.gguf"};
    options.max_outstanding = kReads;
    options.sink = &sink_;
    auto storage = FaultStorage::Open(plan, options, [this](const StorageOptions& inner) {
      return Result<std::unique_ptr<Storage>>(std::make_unique<MemoryStorage>(
          MemoryStorageOptions{{content_}, inner.max_outstanding, inner.sink}));
    });
    BERTH_CHECK(storage.ok());
    memory_.Poison();
    return std::move(*storage);
  }

  static ReadRequest Request(uint32_t i, std::byte* memory) {
    return {.offset = i * kSpan,
            .length = kSpan,
            .need = kSpan,
            .destination = memory + i * kSpan,
            .token = i};
  }
  // Reads the file in kReads spans, all at once, and waits.
  void ReadAll(FaultStorage* storage) {
    sink_.Forget();
    std::vector<ReadRequest> reads;
    for (uint32_t i = 0; i < kReads; ++i) reads.push_back(Request(i, memory_.data()));
    storage->Submit(reads);
    ASSERT_TRUE(sink_.WaitFor(kReads));
  }
  bool IsRight(uint32_t i) const {
    return std::memcmp(memory_.data() + i * kSpan, content_.data() + i * kSpan, kSpan) == 0;
  }
  static uint64_t Count(const FaultStorage& storage, Fault fault) {
    return storage.counts()[static_cast<int>(fault)];
  }

  std::vector<std::byte> content_ = TestFile(0, kReads* kSpan);
  AlignedMemory memory_{kReads * kSpan};
  CollectingSink sink_;
};

TEST_F(FaultStorageTest, WithoutFaultsNothingShows) {
  auto storage = Open({});
  ReadAll(storage.get());
  for (uint32_t i = 0; i < kReads; ++i) {
    EXPECT_TRUE(sink_.Only(i).status.ok());
    EXPECT_EQ(sink_.Only(i).retries, 0u);
    EXPECT_TRUE(IsRight(i));
  }
}

TEST_F(FaultStorageTest, ShortReadsAreRightInTheEndAndCounted) {
  FaultPlan plan;
  plan.rate(Fault::kShortRead) = 1;
  auto storage = Open(plan);
  ReadAll(storage.get());
  for (uint32_t i = 0; i < kReads; ++i) {
    EXPECT_TRUE(sink_.Only(i).status.ok()) << sink_.Only(i).status.ToString();
    EXPECT_EQ(sink_.Only(i).retries, 1u);
    EXPECT_GE(sink_.Only(i).retried_bytes, kPage);
    EXPECT_TRUE(IsRight(i));
  }
  EXPECT_EQ(Count(*storage, Fault::kShortRead), kReads);
  EXPECT_EQ(storage->stats().retries, kReads);
}

TEST_F(FaultStorageTest, ErrorsThatRecoverAndErrorsThatStay) {
  FaultPlan plan;
  plan.ranges = {{Fault::kIoErrorRecovers, 0, 1 * kSpan, 1 * kSpan + 1},
                 {Fault::kIoErrorStays, 0, 2 * kSpan + 5, 2 * kSpan + 6},
                 {Fault::kBusyRecovers, 0, 3 * kSpan, 4 * kSpan},
                 {Fault::kBusyStays, 0, 4 * kSpan, 5 * kSpan},
                 {Fault::kEndOfFile, 0, 5 * kSpan, 6 * kSpan}};
  auto storage = Open(plan);
  ReadAll(storage.get());
  EXPECT_TRUE(sink_.Only(1).status.ok());
  EXPECT_EQ(sink_.Only(1).retries, 1u);
  EXPECT_EQ(sink_.Only(2).status.code(), StatusCode::kUnavailable);
  EXPECT_NE(sink_.Only(2).status.message().find("model.gguf at offset 32768"),
            std::string_view::npos)
      << sink_.Only(2).status.ToString();
  EXPECT_TRUE(sink_.Only(3).status.ok());
  EXPECT_GE(sink_.Only(3).retries, 1u);
  EXPECT_EQ(sink_.Only(4).status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(sink_.Only(5).status.code(), StatusCode::kDataLoss);
  for (uint32_t i = 0; i < kReads; ++i) {
    if (i >= 1 && i <= 5) continue;
    EXPECT_TRUE(sink_.Only(i).status.ok()) << i;
    EXPECT_TRUE(IsRight(i)) << i;
  }
  EXPECT_EQ(storage->stats().failed, 3u);
}

TEST_F(FaultStorageTest, ARangeMayMeetOnlyTheFirstReads) {
  FaultPlan plan;
  plan.ranges = {{Fault::kIoErrorStays, 0, 0, 1, /*times=*/2}};
  auto storage = Open(plan);
  for (int visit = 0; visit < 4; ++visit) {
    sink_.Forget();
    const ReadRequest read = Request(0, memory_.data());
    storage->Submit({&read, 1});
    ASSERT_TRUE(sink_.WaitFor(1));
    EXPECT_EQ(sink_.Only(0).status.ok(), visit >= 2);
  }
}

TEST_F(FaultStorageTest, AFlipChangesOneBitOfTheNeededBytes) {
  FaultPlan plan;
  plan.ranges = {{Fault::kBitFlip, 0, 9 * kSpan, 10 * kSpan}};
  auto storage = Open(plan);
  ReadAll(storage.get());
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kReads * kSpan; ++i) {
    bits += __builtin_popcount(static_cast<uint32_t>(memory_.data()[i] ^ content_[i]));
  }
  EXPECT_EQ(bits, 1u);
  EXPECT_FALSE(IsRight(9));
  EXPECT_TRUE(sink_.Only(9).status.ok());
}

// Which read meets what is the same for the same seed, whatever the timing, and another for
// another.
TEST_F(FaultStorageTest, TheSeedDecidesWhichReadsMeetWhat) {
  const auto fate = [this](uint64_t seed, uint32_t delay_us) {
    FaultPlan plan{.seed = seed, .delay_us_max = delay_us, .hold_back = delay_us / 100};
    plan.rate(Fault::kIoErrorStays) = 0.2;
    plan.rate(Fault::kShortRead) = 0.3;
    plan.rate(Fault::kBitFlip) = 0.1;
    auto storage = Open(plan);
    std::string all;
    for (int round = 0; round < 2; ++round) {
      ReadAll(storage.get());
      for (uint32_t i = 0; i < kReads; ++i) {
        const ReadResult result = sink_.Only(i);
        all += result.status.ok() ? (IsRight(i) ? 'o' : 'f') : 'e';
        all += std::to_string(result.retried_bytes);
      }
    }
    return all;
  };
  const std::string quick = fate(5, 0);
  EXPECT_EQ(fate(5, 500), quick);
  EXPECT_NE(fate(6, 0), quick);
  EXPECT_NE(quick.find('e'), std::string::npos);
  EXPECT_NE(quick.find('f'), std::string::npos);
}

TEST_F(FaultStorageTest, HoldBackReordersAndLosesNothing) {
  std::vector<uint64_t> order;
  sink_.then = [&](const ReadResult& result) { order.push_back(result.token); };
  auto storage = Open({.seed = 3, .hold_back = 16});
  ReadAll(storage.get());
  storage->Close();
  sink_.then = nullptr;
  ASSERT_EQ(order.size(), kReads);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (uint32_t i = 0; i < kReads; ++i) EXPECT_EQ(order[i], i);
}

TEST_F(FaultStorageTest, ASlowDriveTakesItsTime) {
  // 1 MiB at 10 MiB a second: a tenth of a second.
  auto storage = Open({.bytes_per_second = 10u << 20});
  const auto begin = std::chrono::steady_clock::now();
  ReadAll(storage.get());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(98));
}

TEST_F(FaultStorageTest, CloseDoesNotWaitForDelays) {
  auto storage = Open({.delay_us_max = 60'000'000, .hold_back = 8});
  std::vector<ReadRequest> reads;
  for (uint32_t i = 0; i < kReads; ++i) reads.push_back(Request(i, memory_.data()));
  storage->Submit(reads);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto begin = std::chrono::steady_clock::now();
  storage->Close();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(sink_.count(), kReads);
}

}  // namespace
}  // namespace berth::io
