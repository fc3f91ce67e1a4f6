// The io_uring engine on a ring that misbehaves: submissions that fail, for now and for good, reads
// that come back short or busy, chunks of registered memory. No read may be lost.
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <thread>

#include "io/storage.h"
#include "io/storage/buffer_table.h"
#include "tests/io/fake_system.h"
#include "tests/io/storage_test_util.h"

namespace berth::io {
namespace {

constexpr uint32_t kPage = 4096;
constexpr uint32_t kPages = 64;

class RingEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.paths = {dir_.Write("a.gguf", content_)};
    options_.buffers = {memory_.region()};
    options_.sink = &sink_;
    options_.queue_depth = 8;
    auto storage = OpenStorageOn(options_, &system_);
    ASSERT_TRUE(storage.ok()) << storage.status().ToString();
    ASSERT_EQ((*storage)->info().rung, Rung::kUringRegistered);
    storage_ = std::move(*storage);
    memory_.Poison();
  }
  void TearDown() override {
    system_.ring.hold = false;
    storage_.reset();
  }

  // One read per page of the file; the token is the page.
  void SubmitAll() { SubmitPages(0, kPages); }
  void SubmitPages(uint32_t begin, uint32_t end) {
    std::vector<ReadRequest> reads;
    for (uint32_t i = begin; i < end; ++i) {
      reads.push_back({.offset = i * kPage,
                       .length = kPage,
                       .need = kPage,
                       .destination = memory_.data() + i * kPage,
                       .token = i});
    }
    storage_->Submit(reads);
  }
  void ExpectAllRead() {
    ASSERT_TRUE(sink_.WaitFor(kPages));
    for (uint32_t i = 0; i < kPages; ++i) {
      EXPECT_TRUE(sink_.Only(i).status.ok()) << sink_.Only(i).status.ToString();
    }
    EXPECT_EQ(std::memcmp(memory_.data(), content_.data(), kPages * kPage), 0);
  }

  TempDir dir_;
  std::vector<std::byte> content_ = TestFile(0, kPages* kPage);
  AlignedMemory memory_{kPages * kPage};
  CollectingSink sink_;
  StorageOptions options_;
  FakeSystem system_;
  std::unique_ptr<Storage> storage_;
};

TEST_F(RingEngineTest, TransientSubmitErrorsLoseNothing) {
  for (const int error : {-EAGAIN, -EBUSY, -ENOMEM, -EINTR}) {
    system_.ring.submit_failures_left = 20;
    system_.ring.submit_error = error;
    SubmitAll();
    ASSERT_TRUE(sink_.WaitFor(kPages));
    storage_.reset();
    ExpectAllRead();
    sink_.Forget();
    SetUp();
  }
}

TEST_F(RingEngineTest, AKernelThatTakesOneReadAtATimeLosesNothing) {
  system_.ring.take_at_once = 1;
  SubmitAll();
  ExpectAllRead();
}

// The kernel holds what it has taken; then submission breaks for good.
TEST_F(RingEngineTest, AFatalSubmitErrorFailsWhatWasNotTakenAndWaitsForTheRest) {
  system_.ring.hold = true;
  system_.ring.take_at_once = 3;
  system_.ring.submit_error = 0;
  SubmitAll();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  system_.ring.submit_error = -EBADF;
  // The owner waits inside the ring; freeing one read sends it to submit again.
  system_.ring.hold = false;
  ASSERT_TRUE(sink_.WaitFor(kPages));
  uint32_t failed = 0;
  for (uint32_t i = 0; i < kPages; ++i) {
    const ReadResult result = sink_.Only(i);
    if (result.status.ok()) {
      EXPECT_EQ(std::memcmp(memory_.data() + i * kPage, content_.data() + i * kPage, kPage), 0);
    } else {
      ++failed;
      EXPECT_EQ(result.status.code(), StatusCode::kUnavailable);
      EXPECT_TRUE(IsPoison(memory_.data() + i * kPage, kPage)) << i;
    }
  }
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, kPages);
  // Later reads fail with the reason, and closing does not hang.
  sink_.Forget();
  SubmitAll();
  ASSERT_TRUE(sink_.WaitFor(kPages));
  EXPECT_EQ(sink_.Only(0).status.code(), StatusCode::kUnavailable);
  EXPECT_NE(sink_.Only(0).status.message().find("pread"), std::string_view::npos);
  storage_->Close();
}

TEST_F(RingEngineTest, AfterAFatalErrorWhatTheKernelHoldsStillCompletes) {
  system_.ring.hold = true;
  SubmitPages(0, 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  system_.ring.submit_error = -EBADF;
  SubmitPages(4, 8);
  ASSERT_TRUE(sink_.WaitFor(4));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(sink_.count(), 4u);
  for (uint32_t i = 4; i < 8; ++i) {
    EXPECT_EQ(sink_.Only(i).status.code(), StatusCode::kUnavailable);
  }
  system_.ring.hold = false;
  ASSERT_TRUE(sink_.WaitFor(8));
  for (uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(sink_.Only(i).status.ok());
  EXPECT_EQ(std::memcmp(memory_.data(), content_.data(), 4 * kPage), 0);
}

TEST_F(RingEngineTest, CloseWaitsForWhatTheKernelHolds) {
  system_.ring.hold = true;
  SubmitAll();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    storage_->Close();
    closed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(closed);
  system_.ring.hold = false;
  closer.join();
  EXPECT_EQ(sink_.count(), kPages);
  uint32_t cancelled = 0;
  for (uint32_t i = 0; i < kPages; ++i) {
    if (sink_.Only(i).status.code() == StatusCode::kCancelled) ++cancelled;
  }
  EXPECT_EQ(cancelled, kPages - options_.queue_depth);  // the places of the ring had begun
}

TEST_F(RingEngineTest, BusyAndShortReadsAreTriedAgain) {
  std::map<uint64_t, int> calls;  // of the ring's thread alone
  system_.ring.result = [&](const RingRead& read) -> int64_t {
    switch (calls[read.offset]++) {
      case 0:
        return -EAGAIN;
      case 1:
        return -EINTR;
      case 2:
        return 512;  // nothing was written, so the page must be read again from its start
      default:
        return 1;
    }
  };
  SubmitAll();
  ASSERT_TRUE(sink_.WaitFor(kPages));
  uint64_t retries = 0;
  for (uint32_t i = 0; i < kPages; ++i) {
    ASSERT_TRUE(sink_.Only(i).status.ok()) << sink_.Only(i).status.ToString();
    retries += sink_.Only(i).retries;
  }
  EXPECT_EQ(std::memcmp(memory_.data(), content_.data(), kPages * kPage), 0);
  EXPECT_EQ(retries, 3 * kPages);
  EXPECT_EQ(storage_->stats().retries, retries);
}

TEST_F(RingEngineTest, CloseCancelsAReadThatWaitsForAnotherTry) {
  system_.ring.result = [](const RingRead&) -> int64_t { return -EAGAIN; };
  SubmitAll();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  storage_->Close();
  EXPECT_EQ(sink_.count(), kPages);
}

TEST_F(RingEngineTest, AStormEndsInUnavailable) {
  system_.ring.result = [](const RingRead& read) -> int64_t {
    return read.offset == 5 * kPage ? -EAGAIN : 1;
  };
  SubmitAll();
  ASSERT_TRUE(sink_.WaitFor(kPages));
  EXPECT_EQ(sink_.Only(5).status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(sink_.Only(4).status.ok());
  EXPECT_TRUE(sink_.Only(6).status.ok());
}

TEST_F(RingEngineTest, ReadsOutsideTheRegisteredMemoryGoUnregistered) {
  AlignedMemory elsewhere(kPage);
  const uint64_t before = system_.ring.fixed_reads;
  const ReadRequest read = {
      .length = kPage, .need = kPage, .destination = elsewhere.data(), .token = 7};
  storage_->Submit({&read, 1});
  ASSERT_TRUE(sink_.WaitFor(1));
  EXPECT_TRUE(sink_.Only(7).status.ok());
  EXPECT_EQ(std::memcmp(elsewhere.data(), content_.data(), kPage), 0);
  EXPECT_EQ(system_.ring.fixed_reads, before);
}

TEST(BufferTableTest, ChunksRegionsAndFindsOnlyRangesInsideOneChunk) {
  AlignedMemory a(10 * kPage);
  AlignedMemory b(3 * kPage);
  const BufferRegion regions[] = {a.region(), b.region()};
  const BufferTable table(regions, 4 * kPage);
  ASSERT_EQ(table.chunks().size(), 4u);  // 4 + 4 + 2 pages, 3 pages
  EXPECT_EQ(table.bytes(), 13u * kPage);
  for (const iovec& chunk : table.chunks()) EXPECT_LE(chunk.iov_len, 4u * kPage);

  const int first = table.Find(a.data(), 4 * kPage);
  ASSERT_GE(first, 0);
  EXPECT_EQ(table.chunks()[first].iov_base, a.data());
  EXPECT_EQ(table.Find(a.data() + 4 * kPage, kPage), first + 1);
  EXPECT_EQ(table.Find(a.data() + 3 * kPage, 2 * kPage), -1);  // crosses
  EXPECT_EQ(table.Find(a.data() + 9 * kPage, 2 * kPage), -1);  // runs out of the region
  EXPECT_EQ(table.Find(a.data() + 9 * kPage, kPage), first + 2);
  EXPECT_GE(table.Find(b.data(), 3 * kPage), 0);
  EXPECT_EQ(table.Find(b.data() + 3 * kPage, kPage), -1);
  EXPECT_EQ(BufferTable().Find(a.data(), kPage), -1);
}

}  // namespace
}  // namespace berth::io
