// Misses of a public trace, one access after the other, against those of another implementation.
//
// The trace is the prompt-side routing of a model with 26 layers of 64 experts, top-6, from
// github.com/deepseek-ai/ESFT; the counts are those of libCacheSim (github.com/1a1a11a/libCacheSim)
// for the same accesses, with one pool and everything admitted. Here every access is a step of one
// unit.
//
// One rule differs: libCacheSim's SLRU gives each of four segments 83 of 333 slots, and a hit that
// makes units sink into a lowest segment of 84 evicts one on the spot (1,519,123 misses). Here the
// segments share all slots, and nothing leaves on a hit; the figure for 333 is our own.
#include <cstdio>
#include <cstring>

#include "tests/policies/pool.h"
#include "tests/policies/routing.h"

namespace berth::policies {
namespace {

constexpr uint32_t kLayers = 26, kExperts = 64, kTopK = 6;

// As the step's own unit does not have a slot yet when a victim is looked for, all may leave.
class Anyone final : public Evictable {
 public:
  bool operator()(UnitIndex) const override { return true; }
};

size_t CountMisses(const std::vector<UnitIndex>& accesses, std::string_view spec, uint32_t slots) {
  const PolicyOptions options = Options(kLayers * kExperts, slots, kTopK);
  const auto policy = MakeOrDie(spec, options);
  std::vector<uint8_t> resident(options.units, 0);
  uint32_t free = slots;
  size_t misses = 0;
  uint64_t pass = 0;
  for (const UnitIndex unit : accesses) {
    policy->BeginStep(pass++);
    policy->Touched(unit, resident[unit] != 0);
    if (resident[unit]) continue;
    ++misses;
    EXPECT_TRUE(policy->Admit(unit));
    if (free > 0) {
      --free;
    } else {
      const UnitIndex victim = policy->NextVictim(Anyone());
      if (victim == kNoUnit || !resident[victim]) {
        ADD_FAILURE() << "no victim, or one that is not there: " << victim;
        return 0;
      }
      policy->Erased(victim);
      resident[victim] = 0;
    }
    policy->Inserted(unit);
    resident[unit] = 1;
  }
  return misses;
}

struct Expected {
  const char* spec;
  uint32_t slots;
  size_t misses;
};

class PublishedCounts : public testing::TestWithParam<Expected> {
 protected:
  static const std::vector<UnitIndex>& Accesses() {
    static const std::vector<UnitIndex> accesses = [] {
      Routing routing;
      std::vector<UnitIndex> units;
      const std::string path =
          std::string(BERTH_SHARED_DATA) + "/traces/deepseek-v2-lite-64x26-top6.safetensors";
      if (!Load(path, &routing)) return units;
      EXPECT_EQ(routing.layers, kLayers);
      EXPECT_EQ(routing.top_k, kTopK);
      for (size_t at = 0; at < routing.experts.size(); ++at) {
        const auto layer = static_cast<UnitIndex>(at / kTopK % kLayers);
        units.push_back(layer * kExperts + routing.experts[at]);
      }
      return units;
    }();
    return accesses;
  }
};

TEST_P(PublishedCounts, AccessByAccess) {
  if (std::strlen(BERTH_SHARED_DATA) == 0) {
    GTEST_SKIP() << "needs the larger traces: set BERTH_SHARED_DATA to their folder";
  }
  ASSERT_EQ(Accesses().size(), 2569788u);
  const Expected& expected = GetParam();
  EXPECT_EQ(CountMisses(Accesses(), expected.spec, expected.slots), expected.misses);
}

INSTANTIATE_TEST_SUITE_P(
    Misses, PublishedCounts,
    testing::Values(Expected{"lru", 333, 1566207}, Expected{"lru", 832, 542715},
                    Expected{"fifo", 333, 1611074}, Expected{"fifo", 832, 657301},
                    Expected{"clock", 333, 1483612}, Expected{"clock", 832, 529754},
                    Expected{"in-cache-lfu", 333, 1878378}, Expected{"in-cache-lfu", 832, 996394},
                    Expected{"slru", 333, 1518468}, Expected{"slru", 832, 522331},
                    Expected{"sieve", 333, 1878378}, Expected{"sieve", 832, 996394},
                    Expected{"s3-fifo", 333, 1387267}, Expected{"s3-fifo", 832, 522340},
                    Expected{"arc", 333, 1360339}, Expected{"arc", 832, 542454}),
    [](const testing::TestParamInfo<Expected>& info) {
      return TestName(info.param.spec) + "_" + std::to_string(info.param.slots);
    });

}  // namespace
}  // namespace berth::policies
