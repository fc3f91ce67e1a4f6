// All of a run's counters but those that tell of timing, as text: equal texts, equal decisions.
#ifndef BERTH_TESTS_SCHEDULER_DECIDED_H_
#define BERTH_TESTS_SCHEDULER_DECIDED_H_

#include <string>

#include "berth/counters.h"

namespace berth::scheduler {

std::string Decided(const Counters& counters);

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_DECIDED_H_
