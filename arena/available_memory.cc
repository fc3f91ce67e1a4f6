#include "arena/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "arena/host_region.h"

namespace berth::arena {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// The names of one version of the memory controller.
struct Controller {
  const char* limit;
  const char* usage;
  const char* reclaimable;  // in memory.stat: file pages that go before anything is refused
};
constexpr Controller kV2 = {"memory.max", "memory.current", "inactive_file"};
constexpr Controller kV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                            "total_inactive_file"};

// The number that a file consists of; none for "max" or a file that is not there.
std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  uint64_t value = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &value)) return std::nullopt;
  return value;
}

// The number behind `key` in a file of "key number" lines.
std::optional<uint64_t> ReadKey(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    uint64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

uint64_t LeftIn(const std::string& folder, const Controller& controller) {
  const auto limit = ReadNumber(absl::StrCat(folder, "/", controller.limit));
  const auto usage = ReadNumber(absl::StrCat(folder, "/", controller.usage));
  if (!limit.has_value() || !usage.has_value()) return kNoLimit;
  const uint64_t reclaimable =
      ReadKey(absl::StrCat(folder, "/memory.stat"), controller.reclaimable).value_or(0);
  const uint64_t held = *usage - std::min(*usage, reclaimable);
  return *limit - std::min(*limit, held);
}

// The least that a group and those above it leave. Inside a container the path may belong to the
// host's tree and not be there; then what is mounted is the group itself.
uint64_t LeftInTree(const std::string& mount, std::string path, const Controller& controller) {
  uint64_t left = LeftIn(mount, controller);
  while (!path.empty() && path != "/") {
    left = std::min(left, LeftIn(absl::StrCat(mount, path), controller));
    path.erase(path.rfind('/'));
  }
  return left;
}

// Lines of /proc/self/cgroup: "0::/path" for v2, "N:memory:/path" (or in a list) for v1.
uint64_t LeftInGroups(const std::string& root) {
  std::ifstream groups(absl::StrCat(root, "/proc/self/cgroup"));
  std::string line;
  uint64_t left = kNoLimit;
  while (std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second, 2, ":/") != 0) continue;
    const std::string controllers =
        absl::StrCat(",", line.substr(first + 1, second - first - 1), ",");
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      left = std::min(left, LeftInTree(absl::StrCat(root, "/sys/fs/cgroup"), path, kV2));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left, LeftInTree(absl::StrCat(root, "/sys/fs/cgroup/memory"), path, kV1));
    }
  }
  return left;
}

}  // namespace

Result<uint64_t> AvailableHostBytesUnder(const std::string& root) {
  const std::string meminfo = absl::StrCat(root, "/proc/meminfo");
  const auto available_kib = ReadKey(meminfo, "MemAvailable:");
  if (!available_kib.has_value()) {
    return UnavailableError(absl::StrCat(meminfo, " tells no MemAvailable: give every memory ",
                                         "budget as a number of bytes"));
  }
  return std::min(*available_kib * 1024, LeftInGroups(root));
}

Result<uint64_t> AvailableHostBytes() { return AvailableHostBytesUnder(""); }

}  // namespace berth::arena
