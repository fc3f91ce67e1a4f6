// Every step down of the ladder, with the kernel's refusal played.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "io/storage.h"
#include "tests/io/fake_system.h"
#include "tests/io/storage_test_util.h"

namespace berth::io {
namespace {

constexpr uint32_t kPage = 4096;

class StorageLadderTest : public ::testing::Test {
 protected:
  StorageLadderTest() : content_(TestFile(0, 20 * kPage + 10)) {
    options_.paths = {dir_.Write("a.gguf", content_), dir_.Write("b.gguf", content_)};
    options_.buffers = {memory_.region()};
    options_.sink = &sink_;
  }

  Result<std::unique_ptr<Storage>> Open() { return OpenStorageOn(options_, &system_); }

  // Opens, expects the rung, proves that it reads, and returns the reason.
  std::string ReasonAt(Rung rung) {
    auto storage = Open();
    if (!storage.ok()) {
      ADD_FAILURE() << storage.status().ToString();
      return "";
    }
    EXPECT_EQ(RungName((*storage)->info().rung), RungName(rung)) << (*storage)->info().reason;
    const ReadRequest read = {.file = 1,
                              .offset = kPage,
                              .length = kPage,
                              .need = kPage,
                              .destination = memory_.data(),
                              .token = ++token_};
    (*storage)->Submit({&read, 1});
    EXPECT_TRUE(sink_.WaitFor(token_));
    EXPECT_TRUE(sink_.Only(token_).status.ok()) << sink_.Only(token_).status.ToString();
    EXPECT_EQ(std::memcmp(memory_.data(), content_.data() + kPage, kPage), 0);
    return (*storage)->info().reason;
  }
  static bool Has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
  }

  TempDir dir_;
  std::vector<std::byte> content_;
  AlignedMemory memory_{1u << 20};
  CollectingSink sink_;
  StorageOptions options_;
  FakeSystem system_;
  uint64_t token_ = 0;
};

TEST_F(StorageLadderTest, TheBestRungHasNoReason) {
  EXPECT_EQ(ReasonAt(Rung::kUringRegistered), "");
  EXPECT_GT(system_.ring.fixed_reads, 0u);
}

TEST_F(StorageLadderTest, MemlockStepsToPlainIoUringWithTheNumberToRaise) {
  system_.ring.register_buffers = -ENOMEM;
  const std::string reason = ReasonAt(Rung::kUring);
  EXPECT_TRUE(Has(reason, "io_uring+registered: ")) << reason;
  EXPECT_TRUE(Has(reason, "memlock")) << reason;
  EXPECT_TRUE(Has(reason, "8.39 MB")) << reason;
  EXPECT_TRUE(Has(reason, "ulimit -l` to 2048 KiB")) << reason;
  EXPECT_EQ(system_.ring.fixed_reads, 0u);
}

TEST_F(StorageLadderTest, MemoryThatCannotBeRegisteredStepsToPlainIoUring) {
  system_.ring.register_buffers = -EFAULT;
  EXPECT_TRUE(Has(ReasonAt(Rung::kUring), "Bad address"));
}

TEST_F(StorageLadderTest, NoBuffersMeansNothingToRegister) {
  options_.buffers.clear();
  EXPECT_TRUE(Has(ReasonAt(Rung::kUring), "no buffers"));
}

TEST_F(StorageLadderTest, FilesThatCannotBeRegisteredDoNotMatter) {
  system_.ring.register_files = -EMFILE;
  EXPECT_EQ(ReasonAt(Rung::kUringRegistered), "");
}

TEST_F(StorageLadderTest, ABlockedIoUringStepsToPread) {
  system_.ring_refusal = UnavailableError("Operation not permitted (blocked)");
  const std::string reason = ReasonAt(Rung::kPreadDirect);
  EXPECT_TRUE(Has(reason, "io_uring+registered: Operation not permitted (blocked)")) << reason;
  EXPECT_TRUE(Has(reason, "; io_uring: Operation not permitted (blocked)")) << reason;
}

// The ring and the registration are accepted, and only a real read shows that they do not work.
TEST_F(StorageLadderTest, AProbeThatFailsOnlyWithFixedBuffersStepsToPlainIoUring) {
  system_.ring.result = [](const RingRead& read) -> int64_t {
    return read.buffer == kNoBuffer ? 1 : -EOPNOTSUPP;
  };
  EXPECT_TRUE(Has(ReasonAt(Rung::kUring), "Operation not supported"));
}

TEST_F(StorageLadderTest, AProbeThatFailsInTheRingStepsToPread) {
  system_.ring.result = [](const RingRead&) -> int64_t { return -EINVAL; };
  const std::string reason = ReasonAt(Rung::kPreadDirect);
  EXPECT_TRUE(Has(reason, "a.gguf")) << reason;
}

TEST_F(StorageLadderTest, ARingThatTakesNothingStepsToPread) {
  system_.ring.submit_error = -EBADF;
  EXPECT_EQ(RungName(Rung::kPreadDirect), "pread");
  ReasonAt(Rung::kPreadDirect);
}

TEST_F(StorageLadderTest, AnAcceptedDirectFlagThatReadsWithEinvalStepsToBuffered) {
  system_.ring_refusal = UnavailableError("no ring");
  system_.direct_read_error = EINVAL;
  const std::string reason = ReasonAt(Rung::kPreadBuffered);
  EXPECT_TRUE(Has(reason, "pread: ")) << reason;
  EXPECT_TRUE(Has(reason, "Invalid argument")) << reason;
}

TEST_F(StorageLadderTest, AFileSystemWithoutDirectStepsToBuffered) {
  system_.direct_open_error = EINVAL;
  const std::string reason = ReasonAt(Rung::kPreadBuffered);
  EXPECT_TRUE(Has(reason, "O_DIRECT")) << reason;
  EXPECT_TRUE(Has(reason, "a.gguf")) << reason;
}

// One of the files decides for all.
TEST_F(StorageLadderTest, TheWorstFileDecidesAndIsNamed) {
  class OneFile : public FakeSystem {
   public:
    int Open(const char* path, int flags) override {
      const bool refuse =
          (flags & O_DIRECT) != 0 && std::string(path).find("b.gguf") != std::string::npos;
      return refuse ? -EINVAL : StorageSystem::Open(path, flags);
    }
  } system;
  auto storage = OpenStorageOn(options_, &system);
  ASSERT_TRUE(storage.ok());
  EXPECT_EQ((*storage)->info().rung, Rung::kPreadBuffered);
  EXPECT_TRUE(Has((*storage)->info().reason, "b.gguf"));
}

TEST_F(StorageLadderTest, EngineNamesStartWhereTheySay) {
  options_.engine = "uring";
  EXPECT_EQ(ReasonAt(Rung::kUringRegistered), "");
  options_.engine = "pread";
  EXPECT_EQ(ReasonAt(Rung::kPreadDirect), "");
  options_.engine = "buffered";
  EXPECT_EQ(ReasonAt(Rung::kPreadBuffered), "");
}

TEST_F(StorageLadderTest, StrictRefusesInsteadOfSteppingDown) {
  options_.strict = true;
  system_.ring.register_buffers = -ENOMEM;
  const auto best = Open();
  ASSERT_FALSE(best.ok());
  EXPECT_TRUE(Has(best.status().message(), "strict")) << best.status().ToString();
  EXPECT_TRUE(Has(best.status().message(), "memlock")) << best.status().ToString();
  options_.engine = "uring";
  EXPECT_TRUE(Has(ReasonAt(Rung::kUring), "memlock"));
  system_.ring_refusal = UnavailableError("no ring");
  EXPECT_FALSE(Open().ok());
  options_.engine = "pread";
  EXPECT_EQ(ReasonAt(Rung::kPreadDirect), "");
  system_.direct_read_error = EINVAL;
  EXPECT_FALSE(Open().ok());
}

TEST_F(StorageLadderTest, NothingWorksIsOneErrorWithEveryReason) {
  class NoReads : public FakeSystem {
   public:
    int64_t Pread(int, std::byte*, size_t, uint64_t) override { return -EIO; }
  } system;
  system.ring_refusal = UnavailableError("no ring");
  const auto storage = OpenStorageOn(options_, &system);
  ASSERT_FALSE(storage.ok());
  EXPECT_EQ(storage.status().code(), StatusCode::kUnavailable);
  for (const char* part : {"io_uring: no ring", "pread: ", "buffered: ", "a.gguf"}) {
    EXPECT_TRUE(Has(storage.status().message(), part)) << storage.status().ToString();
  }
}

TEST_F(StorageLadderTest, WrongOptionsAreErrorsThatSayWhatToDo) {
  options_.engine = "urin";
  auto unknown = Open();
  EXPECT_EQ(unknown.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(unknown.status().message(), "did you mean 'uring'"))
      << unknown.status().ToString();
  options_.engine = "auto";

  StorageOptions wrong = options_;
  wrong.sink = nullptr;
  EXPECT_EQ(OpenStorageOn(wrong, &system_).status().code(), StatusCode::kInvalidArgument);
  wrong = options_;
  wrong.paths.clear();
  EXPECT_EQ(OpenStorageOn(wrong, &system_).status().code(), StatusCode::kInvalidArgument);
  wrong = options_;
  wrong.queue_depth = 0;
  EXPECT_EQ(OpenStorageOn(wrong, &system_).status().code(), StatusCode::kInvalidArgument);
  wrong = options_;
  wrong.max_outstanding = 0;
  EXPECT_EQ(OpenStorageOn(wrong, &system_).status().code(), StatusCode::kInvalidArgument);
  wrong = options_;
  wrong.buffers[0].begin += 512;
  EXPECT_EQ(OpenStorageOn(wrong, &system_).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(StorageLadderTest, WhatIsNoFileIsRefusedByName) {
  options_.paths[1] = dir_.File("missing.gguf");
  auto missing = Open();
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(Has(missing.status().message(), "missing.gguf")) << missing.status().ToString();

  options_.paths[1] = dir_.File("");
  auto folder = Open();
  EXPECT_EQ(folder.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(folder.status().message(), "a directory")) << folder.status().ToString();

  options_.paths[1] = dir_.File("pipe");
  ASSERT_EQ(::mkfifo(options_.paths[1].c_str(), 0600), 0);
  auto pipe = Open();
  EXPECT_EQ(pipe.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(pipe.status().message(), "a fifo")) << pipe.status().ToString();
}

TEST_F(StorageLadderTest, AFileThatMayNotBeReadIsRefusedAtOnce) {
  class NoRights : public FakeSystem {
   public:
    int Open(const char*, int) override { return -EACCES; }
  } system;
  const auto storage = OpenStorageOn(options_, &system);
  EXPECT_EQ(storage.status().code(), StatusCode::kPermissionDenied);
  EXPECT_FALSE(Has(storage.status().message(), ";")) << storage.status().ToString();
}

TEST_F(StorageLadderTest, AnEmptyFileOpens) {
  options_.paths[0] = dir_.Write("empty.gguf", {});
  EXPECT_EQ(ReasonAt(Rung::kUringRegistered), "");
}

}  // namespace
}  // namespace berth::io
