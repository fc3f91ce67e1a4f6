// What every Storage promises (io/storage.h), as one suite over many implementations. A program
// includes this once and instantiates StorageConformance with its worlds.
#ifndef BERTH_TESTS_IO_STORAGE_CONFORMANCE_H_
#define BERTH_TESTS_IO_STORAGE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/storage.h"
#include "tests/io/storage_test_util.h"

namespace berth::io {

// A place where files can be made and a storage opened over them.
class StorageWorld {
 public:
  virtual ~StorageWorld() = default;
  // options.paths is filled by the world. FailedPrecondition where this machine has no such
  // storage: the test is skipped with the message.
  virtual Result<std::unique_ptr<Storage>> Open(const std::vector<std::vector<std::byte>>& files,
                                                StorageOptions options) = 0;
  virtual void Truncate(uint32_t file, uint64_t bytes) = 0;
};

struct StorageCase {
  std::string name;
  std::function<std::unique_ptr<StorageWorld>()> world;
};

inline void PrintTo(const StorageCase& storage_case, std::ostream* out) {
  *out << storage_case.name;
}

constexpr uint64_t kPage = 4096;
// The first file ends inside a page, the second at the end of one.
constexpr uint64_t kFileBytes[] = {3 * (1u << 20) + 1234, 512 * 1024, 100};

class StorageConformance : public ::testing::TestWithParam<StorageCase> {
 protected:
  void SetUp() override {
    world_ = GetParam().world();
    for (uint32_t i = 0; i < std::size(kFileBytes); ++i) {
      files_.push_back(TestFile(i, kFileBytes[i]));
    }
    Reopen(StorageOptions{.max_outstanding = 256, .queue_depth = 16});
  }

  void Reopen(StorageOptions options) {
    storage_.reset();
    options.buffers = {memory_.region()};
    options.sink = &sink_;
    auto storage = world_->Open(files_, options);
    if (!storage.ok() && storage.status().code() == StatusCode::kFailedPrecondition) {
      GTEST_SKIP() << storage.status().ToString();
    }
    ASSERT_TRUE(storage.ok()) << storage.status().ToString();
    storage_ = std::move(*storage);
    memory_.Poison();
  }

  ReadRequest Request(uint32_t file, uint64_t offset, uint32_t length, uint64_t token,
                      size_t at = 0) {
    const uint64_t bytes = file < files_.size() ? files_[file].size() : 0;
    const uint64_t there = offset < bytes ? bytes - offset : 0;
    return {file,
            offset,
            length,
            static_cast<uint32_t>(std::min<uint64_t>(length, there)),
            memory_.data() + at,
            token};
  }

  ReadResult ReadOne(const ReadRequest& read) {
    const size_t before = sink_.count();
    storage_->Submit({&read, 1});
    EXPECT_TRUE(sink_.WaitFor(before + 1)) << "the read never completed";
    return sink_.Only(read.token);
  }

  // Whether the first `bytes` of the destination are the file's.
  ::testing::AssertionResult Holds(const ReadRequest& read, uint32_t bytes) {
    const std::byte* const expected = files_[read.file].data() + read.offset;
    if (std::memcmp(read.destination, expected, bytes) == 0) return ::testing::AssertionSuccess();
    const auto wrong = std::mismatch(expected, expected + bytes, read.destination);
    return ::testing::AssertionFailure()
           << "byte " << wrong.first - expected << " of token " << read.token << " is wrong";
  }

  std::unique_ptr<StorageWorld> world_;
  std::vector<std::vector<std::byte>> files_;
  AlignedMemory memory_{16u << 20};
  CollectingSink sink_;
  std::unique_ptr<Storage> storage_;
};

TEST_P(StorageConformance, TellsFileSizesAndRung) {
  for (uint32_t i = 0; i < files_.size(); ++i) {
    EXPECT_EQ(storage_->file_bytes(i), kFileBytes[i]);
  }
  EXPECT_FALSE(RungName(storage_->info().rung).empty());
}

TEST_P(StorageConformance, ReadsTheBytesAtRandomPlacesManyAtOnce) {
  std::mt19937_64 random(7);
  std::vector<ReadRequest> reads;
  constexpr uint32_t kSpan = 64 * 1024;
  for (uint64_t token = 0; token < 200; ++token) {
    const uint32_t file = random() % 2;
    const uint64_t offset = random() % (files_[file].size() / kPage) * kPage;
    const uint32_t length = static_cast<uint32_t>((1 + random() % (kSpan / kPage)) * kPage);
    reads.push_back(Request(file, offset, length, token, token * kSpan));
  }
  storage_->Submit(reads);
  ASSERT_TRUE(sink_.WaitFor(reads.size()));
  for (const ReadRequest& read : reads) {
    const ReadResult result = sink_.Only(read.token);
    ASSERT_TRUE(result.status.ok()) << result.status.ToString();
    EXPECT_GE(result.bytes, read.need);
    EXPECT_LE(result.bytes, read.length);
    EXPECT_TRUE(Holds(read, result.bytes));
    EXPECT_TRUE(IsPoison(read.destination + read.length, kSpan - read.length));
  }
}

TEST_P(StorageConformance, ReadsATailThatEndsInsideAPage) {
  const uint64_t offset = kFileBytes[0] / kPage * kPage - kPage;
  const ReadRequest read = Request(0, offset, 8 * kPage, 1);
  ASSERT_EQ(read.need, kPage + 1234);
  const ReadResult result = ReadOne(read);
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.bytes, kPage + 1234);
  EXPECT_TRUE(Holds(read, result.bytes));
  EXPECT_TRUE(IsPoison(read.destination + 8 * kPage, kPage));
}

TEST_P(StorageConformance, ReadsAWholeFileThatIsShorterThanAPage) {
  const ReadRequest read = Request(2, 0, kPage, 1);
  const ReadResult result = ReadOne(read);
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.bytes, 100u);
  EXPECT_TRUE(Holds(read, 100));
}

TEST_P(StorageConformance, NeedUpToTheEndOfAFileThatEndsWithAPage) {
  const ReadRequest read = Request(1, kFileBytes[1] - kPage, 4 * kPage, 1);
  const ReadResult result = ReadOne(read);
  ASSERT_TRUE(result.status.ok()) << result.status.ToString();
  EXPECT_EQ(result.bytes, kPage);
  EXPECT_TRUE(Holds(read, kPage));
}

TEST_P(StorageConformance, NeedBeyondTheEndIsDataLoss) {
  ReadRequest read = Request(0, kFileBytes[0] / kPage * kPage, kPage, 1);
  read.need += 1;
  const ReadResult result = ReadOne(read);
  EXPECT_EQ(result.status.code(), StatusCode::kDataLoss) << result.status.ToString();
  EXPECT_NE(result.status.message().find(std::to_string(read.offset)), std::string::npos)
      << result.status.ToString();
}

TEST_P(StorageConformance, AReadPastTheEndWithoutNeedIsEmptyAndWithNeedIsDataLoss) {
  ReadRequest read = Request(1, kFileBytes[1] + 16 * kPage, kPage, 1);
  ASSERT_EQ(read.need, 0u);
  const ReadResult empty = ReadOne(read);
  EXPECT_TRUE(empty.status.ok()) << empty.status.ToString();
  EXPECT_EQ(empty.bytes, 0u);
  read.need = 1;
  read.token = 2;
  EXPECT_EQ(ReadOne(read).status.code(), StatusCode::kDataLoss);
}

TEST_P(StorageConformance, WrongRequestsCompleteWithInvalidArgument) {
  std::vector<ReadRequest> reads(8, Request(0, 0, kPage, 0));
  reads[0].offset = 512;
  reads[1].length = 4097;
  reads[2].destination += 1;
  reads[3].file = 99;
  reads[4].need = reads[4].length + 1;
  reads[5].length = 0;
  reads[5].need = 0;
  reads[6].destination = nullptr;
  reads[7].offset = ~uint64_t{0} - kPage + 1;
  for (uint64_t i = 0; i < reads.size(); ++i) reads[i].token = i;
  storage_->Submit(reads);
  ASSERT_TRUE(sink_.WaitFor(reads.size()));
  for (const ReadRequest& read : reads) {
    EXPECT_EQ(sink_.Only(read.token).status.code(), StatusCode::kInvalidArgument) << read.token;
  }
  EXPECT_TRUE(IsPoison(memory_.data(), memory_.bytes()));
  // And the storage still reads.
  const ReadRequest right = Request(0, 0, kPage, 100);
  EXPECT_TRUE(ReadOne(right).status.ok());
  EXPECT_TRUE(Holds(right, kPage));
}

TEST_P(StorageConformance, CompletesEveryReadOnceWhenManyThreadsSubmit) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRounds = 25;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t i = 0; i < kRounds; ++i) {
        const uint64_t token = t * kRounds + i;
        const ReadRequest read = Request(0, (token * 7 % 700) * kPage, kPage, token, token * kPage);
        storage_->Submit({&read, 1});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(sink_.WaitFor(kThreads * kRounds));
  storage_->Close();
  const auto results = sink_.results();
  EXPECT_EQ(results.size(), kThreads * kRounds);
  for (const auto& [token, list] : results) {
    ASSERT_EQ(list.size(), 1u) << token;
    ASSERT_TRUE(list[0].status.ok()) << list[0].status.ToString();
    EXPECT_TRUE(Holds(Request(0, (token * 7 % 700) * kPage, kPage, token, token * kPage), kPage));
  }
}

TEST_P(StorageConformance, TheSinkMaySubmitAtFullOccupancy) {
  Reopen(StorageOptions{.max_outstanding = 1, .queue_depth = 4});
  if (IsSkipped()) return;
  constexpr uint64_t kChain = 50;
  std::atomic<std::thread::id> submitting_thread{};
  std::atomic<bool> inside_submit{false};
  sink_.then = [&](const ReadResult& result) {
    // Never from inside Submit of this thread.
    EXPECT_FALSE(inside_submit && submitting_thread.load() == std::this_thread::get_id());
    if (result.token + 1 == kChain) return;
    const ReadRequest next =
        Request(0, (result.token + 1) * kPage, kPage, result.token + 1, (result.token + 1) * kPage);
    submitting_thread = std::this_thread::get_id();
    inside_submit = true;
    storage_->Submit({&next, 1});
    inside_submit = false;
  };
  const ReadRequest first = Request(0, 0, kPage, 0);
  storage_->Submit({&first, 1});
  ASSERT_TRUE(sink_.WaitFor(kChain));
  sink_.then = nullptr;
  for (uint64_t i = 0; i < kChain; ++i) {
    EXPECT_TRUE(Holds(Request(0, i * kPage, kPage, i, i * kPage), kPage));
  }
}

TEST_P(StorageConformance, CloseCompletesWhatIsOutstandingAndWritesNothingAfter) {
  std::vector<ReadRequest> reads;
  for (uint64_t i = 0; i < 256; ++i) {
    reads.push_back(Request(0, (i % 48) * 16 * kPage, 16 * kPage, i, i * 16 * kPage));
  }
  storage_->Submit(reads);
  storage_->Close();
  EXPECT_EQ(sink_.count(), reads.size());
  for (const ReadRequest& read : reads) {
    const ReadResult result = sink_.Only(read.token);
    if (result.status.ok()) {
      EXPECT_TRUE(Holds(read, result.bytes));
    } else {
      EXPECT_EQ(result.status.code(), StatusCode::kCancelled) << result.status.ToString();
    }
  }
  memory_.Poison();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(IsPoison(memory_.data(), memory_.bytes()));
  storage_->Close();
  EXPECT_EQ(sink_.count(), reads.size());
}

TEST_P(StorageConformance, ReadsAfterCloseAreNotTaken) {
  storage_->Close();
  const ReadRequest read = Request(0, 0, kPage, 1);
  storage_->Submit({&read, 1});
  storage_->Close();
  storage_.reset();
  EXPECT_EQ(sink_.count(), 0u);
  EXPECT_TRUE(IsPoison(memory_.data(), kPage));
}

TEST_P(StorageConformance, CloseFromTwoThreadsWhileReadsRun) {
  std::vector<ReadRequest> reads;
  for (uint64_t i = 0; i < 64; ++i) reads.push_back(Request(0, i * kPage, kPage, i, i * kPage));
  storage_->Submit(reads);
  std::thread other([this] { storage_->Close(); });
  storage_->Close();
  EXPECT_EQ(sink_.count(), reads.size());
  other.join();
}

TEST_P(StorageConformance, AFileCutShortIsDataLossNotAHang) {
  ASSERT_TRUE(ReadOne(Request(0, 0, 64 * kPage, 1)).status.ok());
  world_->Truncate(0, 10 * kPage + 77);
  std::vector<ReadRequest> reads = {
      Request(0, 0, 64 * kPage, 2),                      // runs into the new end
      Request(0, 32 * kPage, 8 * kPage, 3, 64 * kPage),  // lies beyond it
      Request(0, 2 * kPage, 4 * kPage, 4, 80 * kPage),   // is still whole
      Request(1, 0, 4 * kPage, 5, 96 * kPage),           // another file
  };
  storage_->Submit(reads);
  ASSERT_TRUE(sink_.WaitFor(5));
  EXPECT_EQ(sink_.Only(2).status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(sink_.Only(3).status.code(), StatusCode::kDataLoss);
  EXPECT_TRUE(sink_.Only(4).status.ok());
  EXPECT_TRUE(Holds(reads[2], 4 * kPage));
  EXPECT_TRUE(sink_.Only(5).status.ok());
  EXPECT_TRUE(Holds(reads[3], 4 * kPage));
}

TEST_P(StorageConformance, StatsAddUpToTheResults) {
  std::vector<ReadRequest> reads;
  for (uint64_t i = 0; i < 40; ++i) reads.push_back(Request(i % 3, 0, kPage, i, i * kPage));
  reads[7].file = 99;
  reads[8].need = kPage;  // file 2 has 100 bytes
  storage_->Submit(reads);
  ASSERT_TRUE(sink_.WaitFor(reads.size()));
  StorageStats sum;
  for (const auto& [token, list] : sink_.results()) {
    for (const ReadResult& result : list) {
      ++sum.reads;
      sum.bytes += result.bytes;
      sum.retries += result.retries;
      sum.retried_bytes += result.retried_bytes;
      if (!result.status.ok()) ++sum.failed;
    }
  }
  const StorageStats stats = storage_->stats();
  EXPECT_EQ(stats.reads, sum.reads);
  EXPECT_EQ(stats.bytes, sum.bytes);
  EXPECT_EQ(stats.retries, sum.retries);
  EXPECT_EQ(stats.retried_bytes, sum.retried_bytes);
  EXPECT_EQ(stats.failed, sum.failed);
  EXPECT_EQ(stats.failed, 2u);
}

}  // namespace berth::io

#endif  // BERTH_TESTS_IO_STORAGE_CONFORMANCE_H_
