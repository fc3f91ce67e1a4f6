#include "gtest/gtest.h"
#include "runtime/count/count.h"
#include "tests/count/given_trace.h"

namespace berth {
namespace {

TEST(CountMisses, RefusesPoolsThatDoNotFit) {
  testing::GivenTrace trace({2, 4, 1}, {0, 1, 2, 3});
  CountRequest request;
  request.pool_slots = {1, 1};
  EXPECT_EQ(CountMisses(&trace, {}, std::vector{request}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth
