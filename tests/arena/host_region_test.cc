#include "arena/host_region.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "arena/available_memory.h"
#include "runtime/base/math.h"

namespace berth::arena {
namespace {

constexpr uint64_t kMiB = 1u << 20;

bool IsMapped(const void* page) {
  unsigned char resident = 0;
  return ::mincore(const_cast<void*>(page), 4096, &resident) == 0;
}

TEST(HostRegionTest, IsAlignedZeroedAndRoundedUp) {
  auto region = HostRegion::Create({.bytes = 3 * kMiB, .purpose = "test"});
  ASSERT_TRUE(region.ok()) << region.status().ToString();
  EXPECT_EQ(region->bytes(), 4 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(region->data()) % kHugePageBytes, 0u);
  for (uint64_t i = 0; i < region->bytes(); i += 4096) {
    ASSERT_EQ(region->data()[i], std::byte{0});
  }
  std::memset(region->data(), 0x5A, region->bytes());
}

TEST(HostRegionTest, HugeBytesAreWhatTheKernelSaysOfThisRegionAlone) {
  // Neighbours of the same kind must not be counted in.
  auto before = HostRegion::Create({.bytes = 8 * kMiB, .purpose = "before"});
  auto region = HostRegion::Create({.bytes = 16 * kMiB, .purpose = "test"});
  auto after = HostRegion::Create({.bytes = 8 * kMiB, .purpose = "after"});
  ASSERT_TRUE(before.ok() && region.ok() && after.ok());
  EXPECT_LE(region->huge_bytes(), region->bytes());
  EXPECT_EQ(region->huge_bytes() % kHugePageBytes, 0u);
  // Either all is huge or the note says what is not.
  EXPECT_EQ(region->huge_bytes() == region->bytes(),
            region->note().find("huge pages") == std::string::npos)
      << region->note();
}

TEST(HostRegionTest, ZeroAndAbsurdSizesAreErrors) {
  EXPECT_EQ(HostRegion::Create({.bytes = 0}).status().code(), StatusCode::kInvalidArgument);
  for (const uint64_t bytes : {uint64_t{1} << 50, uint64_t{1} << 60, ~uint64_t{0}}) {
    const auto region = HostRegion::Create({.bytes = bytes, .purpose = "host tier"});
    ASSERT_FALSE(region.ok());
    EXPECT_EQ(region.status().code(), StatusCode::kResourceExhausted);
    EXPECT_NE(region.status().message().find("host tier"), std::string::npos);
  }
}

TEST(HostRegionTest, MovesAndUnmaps) {
  std::byte* first = nullptr;
  {
    auto made = HostRegion::Create({.bytes = 2 * kMiB, .purpose = "test"});
    ASSERT_TRUE(made.ok());
    HostRegion region = std::move(*made);
    EXPECT_EQ(made->data(), nullptr);
    first = region.data();
    EXPECT_TRUE(IsMapped(first));
    HostRegion target;
    target = std::move(region);
    EXPECT_EQ(target.data(), first);
    EXPECT_EQ(target.bytes(), 2 * kMiB);
  }
  EXPECT_FALSE(IsMapped(first));
}

TEST(HostRegionTest, ANodeThatIsNotThereIsANote) {
  const auto region = HostRegion::Create({.bytes = 2 * kMiB, .numa_node = 900, .purpose = "test"});
  ASSERT_TRUE(region.ok());
  EXPECT_NE(region->note().find("NUMA node 900"), std::string::npos) << region->note();
  EXPECT_NE(region->data(), nullptr);
}

// In a child that may not lock memory, because the limit of this process must stay as it is.
TEST(HostRegionTest, ARefusedLockIsANoteWithTheNumberToRaise) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers replace mlock by a call that always succeeds";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) ::_exit(1);
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const auto region = HostRegion::Create({.bytes = 4 * kMiB, .purpose = "test"});
    if (!region.ok()) ::_exit(3);
    if (region->locked()) ::_exit(4);
    if (region->note().find("ulimit -l` to 4096 KiB") == std::string::npos) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

class AvailableMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/berth-mem-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    Write("/proc/meminfo", "MemTotal: 2000 kB\nMemFree: 100 kB\nMemAvailable: 1000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  uint64_t Available() {
    const auto bytes = AvailableHostBytesUnder(root_);
    EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
    return bytes.ok() ? *bytes : 0;
  }
  std::string root_;
};

TEST_F(AvailableMemoryTest, WithoutGroupsItIsMemAvailable) { EXPECT_EQ(Available(), 1000u * 1024); }

TEST_F(AvailableMemoryTest, GroupWithoutALimit) {
  Write("/proc/self/cgroup", "0::/job\n");
  Write("/sys/fs/cgroup/job/memory.max", "max\n");
  Write("/sys/fs/cgroup/job/memory.current", "5\n");
  EXPECT_EQ(Available(), 1000u * 1024);
}

TEST_F(AvailableMemoryTest, Version2TakesTheTightestGroupAndForgivesFilePages) {
  Write("/proc/self/cgroup", "0::/slice/job\n");
  Write("/sys/fs/cgroup/slice/memory.max", "600000\n");
  Write("/sys/fs/cgroup/slice/memory.current", "500000\n");
  Write("/sys/fs/cgroup/slice/memory.stat", "anon 100\ninactive_file 300000\n");
  Write("/sys/fs/cgroup/slice/job/memory.max", "900000\n");
  Write("/sys/fs/cgroup/slice/job/memory.current", "100\n");
  EXPECT_EQ(Available(), 400'000u);
}

TEST_F(AvailableMemoryTest, Version1AndAMixedTree) {
  Write("/proc/self/cgroup", "5:cpu,memory:/docker/abc\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "300000\n");  // a container's own view
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "310000\n");
  EXPECT_EQ(Available(), 0u);
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(Available(), 200'000u);
}

TEST_F(AvailableMemoryTest, WithoutMemAvailableItIsAnError) {
  Write("/proc/meminfo", "MemTotal: 2000 kB\n");
  EXPECT_EQ(AvailableHostBytesUnder(root_).status().code(), StatusCode::kUnavailable);
}

TEST(AvailableHostBytesTest, TheMachineTellsAPlausibleNumber) {
  const auto bytes = AvailableHostBytes();
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  EXPECT_GT(*bytes, kMiB);
  EXPECT_LT(*bytes, uint64_t{1} << 50);
}

}  // namespace
}  // namespace berth::arena
