// The resident size of a run stays within what it says it will take.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/runtime/small_model.h"
#include "tests/tools/berth_command.h"

namespace berth::testing {
namespace {

// A model that is larger than all that the run may take.
TEST(RunMemory, ResidentSizeIsWithinTheBound) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory counts as resident";
#endif
  const TemporaryDirectory folder;
  const std::string model = folder / "m.gguf";
  ASSERT_EQ(Berth({"make-model", model, "--layers", "4", "--experts", "32", "--top-k", "4",
                   "--hidden", "1024", "--ffn", "768", "--types", "iq3_s+iq4_nl"})
                .code,
            0);
  WriteTrace(folder / "t.safetensors", {.experts = 32});
  const Ran ran = Berth({"run", model, "--trace", folder / "t.safetensors", "--arena", "20MB",
                         "--host-tier", "20MB", "--staging", "8MB", "--json", "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json report = nlohmann::json::parse(ran.out);
  const nlohmann::json& memory = report["memory"];
  uint64_t sum = 64u << 20;
  for (const char* part :
       {"arena_bytes", "ring_bytes", "host_tier_bytes", "staging_bytes", "workspace_bytes",
        "books_bytes", "catalog_bytes", "trace_window_bytes", "input_bytes"}) {
    const uint64_t bytes = memory[part];
    EXPECT_GT(bytes, 0u) << part;
    sum += bytes;
  }
  const uint64_t peak = memory["rss_peak_bytes"], bound = memory["rss_bound_bytes"];
  EXPECT_EQ(bound, sum);
  EXPECT_LE(peak, bound);
  EXPECT_GT(peak, memory["arena_bytes"].get<uint64_t>());
  // Otherwise this test could not fail.
  EXPECT_GT(std::filesystem::file_size(model), bound);
  EXPECT_GT(report["bytes_storage"], std::filesystem::file_size(model) / 2);
}

}  // namespace
}  // namespace berth::testing
