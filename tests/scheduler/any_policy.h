// A policy drawn from the registry, at times with parameters drawn from what its summary says of
// them, so that policies that are registered later are driven too.
#ifndef BERTH_TESTS_SCHEDULER_ANY_POLICY_H_
#define BERTH_TESTS_SCHEDULER_ANY_POLICY_H_

#include <string>

#include "tests/scheduler/random.h"

namespace berth::scheduler {

struct AnyPolicy {
  std::string spec;
  bool needs_heat = false;
};
AnyPolicy DrawPolicy(Random* random);

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_ANY_POLICY_H_
