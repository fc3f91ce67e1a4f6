// Counting a long trace takes no more memory than a short one, and a full disk is an error.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "runtime/count/count.h"
#include "runtime/count/future.h"
#include "runtime/run/process_memory.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

// Rows without a place where they are kept.
class EndlessTrace final : public TraceFile {
 public:
  explicit EndlessTrace(uint64_t rows) : row_(64) {
    info_.layers = 8;
    info_.experts = 64;
    info_.top_k = 8;
    info_.rows = rows;
    info_.request_rows = {static_cast<uint32_t>(rows)};
  }
  Result<std::span<const int32_t>> Experts(uint64_t row) override {
    uint64_t random = row * 0x9e3779b97f4a7c15u + 1;
    for (int32_t& id : row_) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<int32_t>((random >> 58) & (random >> 50) & 63);
    }
    return std::span<const int32_t>(row_);
  }
  Result<std::span<const float>> Weights(uint64_t) override {
    return FailedPreconditionError("no weights");
  }
  Result<std::span<const int32_t>> Predicted(uint64_t, uint32_t) override {
    return FailedPreconditionError("no predictions");
  }
  uint64_t window_bytes() const override { return 0; }

 private:
  std::vector<int32_t> row_;
};

CountWorkload Workload(Granularity granularity) {
  CountWorkload workload;
  workload.granularity = granularity;
  workload.passes.window = 4;
  return workload;
}

std::vector<CountRequest> Requests() {
  std::vector<CountRequest> requests;
  for (const char* policy : {"lru", "lfu", "belady"}) {
    CountRequest request;
    request.policy = policy;
    request.pool_slots = {200};
    requests.push_back(request);
  }
  return requests;
}

uint64_t PeakOf(uint64_t rows, Granularity granularity) {
  EndlessTrace trace(rows);
  ResetPeakResidentBytes();
  const auto results = CountMisses(&trace, Workload(granularity), Requests());
  EXPECT_TRUE(results.ok()) << results.status().ToString();
  const auto curve = CountLruCurve(&trace, Workload(granularity));
  EXPECT_TRUE(curve.ok());
  return PeakResidentBytes();
}

TEST(CountMemory, DoesNotGrowWithTheTrace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory counts as resident";
#endif
  for (const Granularity granularity : {Granularity::kStep, Granularity::kAccess}) {
    PeakOf(2'000, granularity);
    const uint64_t small = PeakOf(10'000, granularity);
    const uint64_t large = PeakOf(100'000, granularity);
    if (small == 0) GTEST_SKIP() << "this system does not tell a process its memory";
    // A byte for each access would be 5.8 million more, the next uses 46 million.
    EXPECT_LT(large, small + (2u << 20));
  }
}

uint64_t PeakOfFuture(uint64_t rows) {
  EndlessTrace trace(rows);
  ResetPeakResidentBytes();
  Result<std::unique_ptr<Future>> future = Future::Find(&trace, {});
  EXPECT_TRUE(future.ok()) << future.status().ToString();
  for (uint64_t row = 0; row < rows && future.ok(); ++row) {
    const std::span<const int32_t> ids = *trace.Experts(row);
    for (uint32_t layer = 0; layer < 8; ++layer) {
      EXPECT_TRUE((*future)->BeginStep(layer, ids.subspan(size_t{layer} * 8, 8)).ok());
    }
  }
  return PeakResidentBytes();
}

TEST(CountMemory, AFutureThatIsToldDoesNotGrowWithTheTrace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory counts as resident";
#endif
  PeakOfFuture(2'000);
  const uint64_t small = PeakOfFuture(10'000);
  if (small == 0) GTEST_SKIP() << "this system does not tell a process its memory";
  EXPECT_LT(PeakOfFuture(100'000), small + (2u << 20));
}

TEST(CountMemory, AFullDiskIsAnErrorAndLeavesNothing) {
  const testing::TemporaryDirectory folder;
  CountWorkload workload = Workload(Granularity::kStep);
  workload.temporary_folder = folder / "";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 1u << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  EndlessTrace trace(10'000);
  const auto results = CountMisses(&trace, workload, Requests());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(results.status().code(), StatusCode::kResourceExhausted) << results.status().ToString();
  EXPECT_NE(results.status().message().find(workload.temporary_folder), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(workload.temporary_folder));

  EXPECT_TRUE(CountMisses(&trace, workload, Requests()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(workload.temporary_folder));
}

TEST(CountMemory, AMissingFolderIsAnError) {
  EndlessTrace trace(10);
  CountWorkload workload;
  workload.temporary_folder = "/nowhere/at/all";
  const auto results = CountMisses(&trace, workload, Requests());
  EXPECT_EQ(results.status().code(), StatusCode::kNotFound) << results.status().ToString();
}

}  // namespace
}  // namespace berth
