// A curve as a whole, of a trace in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runtime/curve/curve.h"
#include "tests/count/given_trace.h"

namespace berth::curve {
namespace {

using testing::GivenTrace;

// Three layers of sixteen experts, top-2, sixty rows in two requests.
GivenTrace Trace() {
  std::vector<int32_t> ids;
  uint32_t state = 1;
  for (int entry = 0; entry < 60 * 3; ++entry) {
    state = state * 1664525 + 1013904223;
    const auto first = static_cast<int32_t>((state >> 16) % 7 + (state >> 28) % 7);
    ids.push_back(first);
    ids.push_back(first + 1 + static_cast<int32_t>((state >> 8) % 2));
  }
  return GivenTrace({.layers = 3, .experts = 16, .top_k = 2}, ids, {40, 20});
}

CurveReport Measured(const CurveOptions& options) {
  GivenTrace trace = Trace();
  Result<CurveReport> report = MeasureCurve(&trace, options);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return std::move(report).value();
}

Status Refused(const CurveOptions& options) {
  GivenTrace trace = Trace();
  return MeasureCurve(&trace, options).status();
}

TEST(Curve, EveryPolicyThatCanRunAndTheBounds) {
  const CurveReport report = Measured({});
  for (const policies::PolicyInfo& info : policies::Policies()) {
    const bool left_out = std::any_of(report.left_out.begin(), report.left_out.end(),
                                      [&](const LeftOut& l) { return l.policy == info.name; });
    EXPECT_NE(report.Find(info.name).has_value(), left_out) << info.name;
    EXPECT_EQ(left_out, info.needs_heat) << info.name;
  }
  EXPECT_TRUE(report.policies.back().is_bound);
  EXPECT_TRUE(report.Find("belady"));
  EXPECT_TRUE(report.Find("belady:admit=always"));
  EXPECT_EQ(report.lookups(), 60u * 3 * 2);
  EXPECT_EQ(report.passes, 60u);
}

TEST(Curve, BoundsAreBelowAndLayersAddUp) {
  const CurveReport report = Measured({});
  for (size_t s = 0; s < report.sizes.size(); ++s) {
    const uint64_t bound = report.policies[*report.Bound(s)].points[s].misses;
    EXPECT_EQ(bound, report.policies[*report.Find("belady")].points[s].misses);
    for (const PolicyCurve& policy : report.policies) {
      const CountResult& point = policy.points[s];
      EXPECT_GE(point.misses, bound) << policy.spec;
      EXPECT_EQ(std::accumulate(point.layer_misses.begin(), point.layer_misses.end(), 0ull),
                point.misses);
      if (policy.is_bound) continue;
      EXPECT_GE(point.misses, report.policies[*report.BestOnline(s)].points[s].misses);
    }
  }
}

TEST(Curve, TheLineGoesThroughThePointsOfLru) {
  for (const Scope scope : {Scope::kShared, Scope::kPerLayer}) {
    for (const Between between : {Between::kCarried, Between::kReset}) {
      CurveOptions options;
      options.scope = scope;
      options.workload.between = between;
      options.policies = {"lru"};
      options.sizes = *ParseSizes("9,12,25%,50%,75%,48");
      const CurveReport report = Measured(options);
      ASSERT_EQ(report.lru.stride, 1u);
      EXPECT_EQ(report.lru.first_slots, scope == Scope::kShared ? 2u : 6u);
      EXPECT_EQ(report.lru.misses.size(), 48u - report.lru.first_slots + 1);
      for (size_t s = 0; s < report.sizes.size(); ++s) {
        EXPECT_EQ(report.lru.misses[report.sizes[s].slots - report.lru.first_slots],
                  report.policies[0].points[s].misses);
      }
    }
  }
}

// From the largest step's distinct units on, which wide passes make known by reading them.
TEST(Curve, TheLineBeginsWhereStepsFit) {
  CurveOptions options;
  options.policies = {"lru"};
  options.sizes = *ParseSizes("2,6,12,24,30,36,48");
  options.workload.passes.window = 3;
  const CurveReport report = Measured(options);
  EXPECT_GT(report.lru.first_slots, 2u);
  EXPECT_LE(report.lru.first_slots, 6u);
  EXPECT_NE(report.notes.back().find("the largest steps do not fit"), std::string::npos);
  for (size_t s = 1; s < report.sizes.size(); ++s) {
    EXPECT_EQ(report.lru.misses[report.sizes[s].slots - report.lru.first_slots],
              report.policies[0].points[s].misses);
  }
}

TEST(Curve, MapsSayWhatWasResident) {
  CurveOptions options;
  options.maps = true;
  options.policies = {"lru"};
  options.sizes = *ParseSizes("12,48");
  const CurveReport report = Measured(options);
  ASSERT_FALSE(report.maps.empty());
  for (const ResidencyMap& map : report.maps) {
    ASSERT_EQ(map.shares.size(), 48u);
    const double slots = std::accumulate(map.shares.begin(), map.shares.end(), 0.0) / 255;
    // Never more at once than there are slots, and most of them are taken soon.
    EXPECT_LE(slots, static_cast<double>(report.sizes[map.size].slots) + 0.1);
    EXPECT_GT(slots, 9.0);
  }
  EXPECT_TRUE(Measured({}).maps.empty());
}

TEST(Curve, WarmPoliciesNeedAProfile) {
  CurveOptions options;
  options.policies = {"static"};
  EXPECT_NE(Refused(options).message().find("--warm"), std::string::npos);
  options.workload.heat.assign(48, 1.0);
  EXPECT_TRUE(Measured(options).Find("static"));
  options.policies.clear();
  EXPECT_TRUE(Measured(options).left_out.empty());
}

TEST(Curve, WhatIsRefusedBeforeTheTraceIsRead) {
  CurveOptions options;
  options.policies = {"lruu"};
  EXPECT_NE(Refused(options).message().find("did you mean 'lru'"), std::string::npos);
  options.policies = {"lfu:decay=7"};
  EXPECT_NE(Refused(options).message().find("--policy"), std::string::npos);
  options.policies.clear();
  options.workload.warmup_passes = 60;
  EXPECT_NE(Refused(options).message().find("60 passes"), std::string::npos);
  options.workload.warmup_passes = 59;
  EXPECT_EQ(Measured(options).passes, 1u);
}

TEST(Curve, NotesOfTheCliffAndOfAccesses) {
  CurveOptions options;
  options.policies = {"lru"};
  options.sizes = *ParseSizes("4");
  options.workload.granularity = Granularity::kAccess;
  options.workload.passes.window = 2;
  const CurveReport report = Measured(options);
  ASSERT_EQ(report.notes.size(), 3u);
  EXPECT_NE(report.notes[0].find("the cliff: 4 slots"), std::string::npos);
  EXPECT_NE(report.notes[1].find("too small to run"), std::string::npos);
  EXPECT_NE(report.notes[2].find("access by access"), std::string::npos);
}

}  // namespace
}  // namespace berth::curve
