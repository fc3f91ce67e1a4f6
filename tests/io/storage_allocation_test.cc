// Once warm, a read costs no operator new: not in Submit, not on the storage's threads.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "io/storage.h"
#include "tests/io/storage_test_util.h"
#include "tests/new_counter.h"

namespace berth::io {
namespace {

constexpr uint32_t kPage = 4096;
constexpr uint32_t kReads = 64;

class CountingSink : public ReadSink {
 public:
  void ReadCompleted(const ReadResult& result) override {
    if (!result.status.ok()) ++failed;
    ++done;
  }
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> failed{0};
};

class StorageAllocationTest : public ::testing::TestWithParam<const char*> {};

TEST_P(StorageAllocationTest, AWarmReadAllocatesNothing) {
  TempDir dir;
  AlignedMemory memory(kReads * kPage);
  CountingSink sink;
  StorageOptions options;
  options.paths = {dir.Write("a.gguf", TestFile(0, kReads * kPage))};
  options.buffers = {memory.region()};
  options.engine = GetParam();
  options.sink = &sink;
  options.queue_depth = 8;
  auto storage = OpenStorage(options);
  ASSERT_TRUE(storage.ok()) << storage.status().ToString();

  std::vector<ReadRequest> reads;
  for (uint32_t i = 0; i < kReads; ++i) {
    reads.push_back({.offset = i * kPage,
                     .length = kPage,
                     .need = kPage,
                     .destination = memory.data() + i * kPage,
                     .token = i});
  }
  uint64_t before = 0;
  for (uint64_t round = 0; round < 20; ++round) {
    if (round == 2) before = NewCalls();
    (*storage)->Submit(reads);
    while (sink.done < (round + 1) * kReads) std::this_thread::yield();
  }
  EXPECT_EQ(NewCalls() - before, 0u);
  EXPECT_EQ(sink.failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(Engines, StorageAllocationTest,
                         ::testing::Values("uring", "pread", "buffered"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace berth::io
