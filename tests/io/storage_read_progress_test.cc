#include <gtest/gtest.h>

#include <cerrno>

#include "io/storage/read_progress.h"

namespace berth::io {
namespace {

using Action = ReadProgress::Action;
constexpr uint32_t kPage = 4096;

class ReadProgressTest : public ::testing::Test {
 protected:
  ReadProgress Make(uint32_t length, uint32_t need) {
    return ReadProgress({.file = 0,
                         .offset = 10 * kPage,
                         .length = length,
                         .need = need,
                         .destination = memory_,
                         .token = 42});
  }
  Status StatusOf(const ReadProgress& progress) { return progress.Finish("model.gguf").status; }

  alignas(kPage) std::byte memory_[16 * kPage];
};

TEST_F(ReadProgressTest, WholeReadIsDoneAtOnce) {
  ReadProgress progress = Make(4 * kPage, 4 * kPage);
  EXPECT_EQ(progress.Next().offset, 10u * kPage);
  EXPECT_EQ(progress.Next().length, 4u * kPage);
  EXPECT_EQ(progress.Next().destination, memory_);
  EXPECT_EQ(progress.Advance(4 * kPage), Action::kDone);
  const ReadResult result = progress.Finish("model.gguf");
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.token, 42u);
  EXPECT_EQ(result.bytes, 4u * kPage);
  EXPECT_EQ(result.retries, 0u);
  EXPECT_EQ(result.retried_bytes, 0u);
}

TEST_F(ReadProgressTest, ShortInsideAPageGoesBackToItsStart) {
  ReadProgress progress = Make(4 * kPage, 4 * kPage);
  EXPECT_EQ(progress.Advance(kPage + 1000), Action::kAgain);
  EXPECT_EQ(progress.Next().offset, 11u * kPage);
  EXPECT_EQ(progress.Next().length, 3u * kPage);
  EXPECT_EQ(progress.Next().destination, memory_ + kPage);
  EXPECT_EQ(progress.Advance(3 * kPage), Action::kDone);
  EXPECT_FALSE(progress.failed());
  EXPECT_EQ(progress.bytes(), 4 * kPage);
  EXPECT_EQ(progress.retries(), 1u);
  EXPECT_EQ(progress.retried_bytes(), 3u * kPage);
}

TEST_F(ReadProgressTest, AcceptsTheEndOfTheFileOnceNeedIsThere) {
  ReadProgress progress = Make(4 * kPage, kPage + 5);
  EXPECT_EQ(progress.Advance(kPage + 5), Action::kDone);
  EXPECT_TRUE(StatusOf(progress).ok());
  EXPECT_EQ(progress.bytes(), kPage + 5);
}

TEST_F(ReadProgressTest, OneByteShortOfNeedIsNotEnough) {
  ReadProgress progress = Make(4 * kPage, kPage + 5);
  EXPECT_EQ(progress.Advance(kPage + 4), Action::kAgain);
  EXPECT_EQ(progress.Advance(0), Action::kDone);
  EXPECT_EQ(StatusOf(progress).code(), StatusCode::kDataLoss);
}

TEST_F(ReadProgressTest, ZeroBytesBeforeNeedIsDataLossThatNamesThePlace) {
  ReadProgress progress = Make(kPage, 1);
  EXPECT_EQ(progress.Advance(0), Action::kDone);
  const Status status = StatusOf(progress);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("model.gguf"), std::string_view::npos);
  EXPECT_NE(status.message().find("40960"), std::string_view::npos);
}

TEST_F(ReadProgressTest, ZeroBytesWithoutNeedIsAnEmptyRead) {
  ReadProgress progress = Make(kPage, 0);
  EXPECT_EQ(progress.Advance(0), Action::kDone);
  EXPECT_TRUE(StatusOf(progress).ok());
  EXPECT_EQ(progress.bytes(), 0u);
}

// A direct read at the end of a file that ends inside a page returns the same bytes for ever.
TEST_F(ReadProgressTest, TheSamePageAgainAndAgainEnds) {
  ReadProgress progress = Make(4 * kPage, 4 * kPage);
  EXPECT_EQ(progress.Advance(2 * kPage + 100), Action::kAgain);
  uint32_t tries = 1;
  while (progress.Advance(100) == Action::kAgain) ASSERT_LT(++tries, 100u);
  EXPECT_EQ(tries, ReadProgress::kStallsMax);
  EXPECT_EQ(StatusOf(progress).code(), StatusCode::kDataLoss);
  EXPECT_EQ(progress.bytes(), 2 * kPage + 100);
}

TEST_F(ReadProgressTest, AStallThatMovesOnIsForgotten) {
  ReadProgress progress = Make(16 * kPage, 16 * kPage);
  for (int page = 0; page < 15; ++page) {
    for (uint32_t i = 1; i < ReadProgress::kStallsMax; ++i) {
      ASSERT_EQ(progress.Advance(512), Action::kAgain);
    }
    ASSERT_EQ(progress.Advance(kPage), Action::kAgain);
  }
  EXPECT_EQ(progress.Advance(kPage), Action::kDone);
  EXPECT_FALSE(progress.failed());
}

TEST_F(ReadProgressTest, OneIoErrorIsTriedAgain) {
  ReadProgress progress = Make(kPage, kPage);
  EXPECT_EQ(progress.Advance(-EIO), Action::kAgain);
  EXPECT_EQ(progress.Advance(kPage), Action::kDone);
  EXPECT_TRUE(StatusOf(progress).ok());
  EXPECT_EQ(progress.retries(), 1u);
}

TEST_F(ReadProgressTest, TheSecondIoErrorFailsEvenAfterProgress) {
  ReadProgress progress = Make(2 * kPage, 2 * kPage);
  EXPECT_EQ(progress.Advance(-EIO), Action::kAgain);
  EXPECT_EQ(progress.Advance(kPage), Action::kAgain);
  EXPECT_EQ(progress.Advance(-EIO), Action::kDone);
  const Status status = StatusOf(progress);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("model.gguf"), std::string_view::npos);
  EXPECT_NE(status.message().find("40960"), std::string_view::npos);
}

TEST_F(ReadProgressTest, AStormOfEagainIsBoundedAndSlowsDown) {
  ReadProgress progress = Make(kPage, kPage);
  uint64_t waited_us = 0;
  uint32_t last_us = 0;
  for (uint32_t i = 0; i < ReadProgress::kTransientMax; ++i) {
    ASSERT_EQ(progress.Advance(-EAGAIN), Action::kAgainAfterDelay);
    EXPECT_GE(progress.delay_us(), last_us);
    last_us = progress.delay_us();
    waited_us += last_us;
  }
  EXPECT_LE(waited_us, 1'000'000u);
  EXPECT_GE(waited_us, 300'000u);
  EXPECT_EQ(progress.Advance(-EAGAIN), Action::kDone);
  EXPECT_EQ(StatusOf(progress).code(), StatusCode::kUnavailable);
  EXPECT_EQ(progress.retries(), ReadProgress::kTransientMax);
}

TEST_F(ReadProgressTest, BytesEndAStorm) {
  ReadProgress progress = Make(2 * kPage, 2 * kPage);
  for (uint32_t i = 0; i < ReadProgress::kTransientMax; ++i) progress.Advance(-EAGAIN);
  ASSERT_EQ(progress.Advance(kPage), Action::kAgain);
  EXPECT_EQ(progress.Advance(-EAGAIN), Action::kAgainAfterDelay);
  EXPECT_EQ(progress.delay_us(), 50u);
  EXPECT_EQ(progress.Advance(kPage), Action::kDone);
  EXPECT_FALSE(progress.failed());
}

TEST_F(ReadProgressTest, AnInterruptionIsTriedAgainAtOnceWithTheSameBound) {
  ReadProgress progress = Make(kPage, kPage);
  for (uint32_t i = 0; i < ReadProgress::kTransientMax; ++i) {
    ASSERT_EQ(progress.Advance(-EINTR), Action::kAgain);
  }
  EXPECT_EQ(progress.Advance(-EINTR), Action::kDone);
  EXPECT_TRUE(progress.failed());
}

TEST_F(ReadProgressTest, OtherErrorsFailAtOnce) {
  for (const int error : {EINVAL, EBADF, EFAULT, EOPNOTSUPP}) {
    ReadProgress progress = Make(kPage, kPage);
    EXPECT_EQ(progress.Advance(-error), Action::kDone);
    EXPECT_EQ(StatusOf(progress).code(), StatusCode::kUnavailable);
  }
}

TEST_F(ReadProgressTest, MoreThanWasAskedForIsAFault) {
  ReadProgress progress = Make(kPage, kPage);
  EXPECT_EQ(progress.Advance(kPage + 1), Action::kDone);
  EXPECT_EQ(StatusOf(progress).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace berth::io
