// The check that the core's counters balance.
#ifndef BERTH_SCHEDULER_COUNTERS_H_
#define BERTH_SCHEDULER_COUNTERS_H_

#include "berth/counters.h"
#include "berth/status.h"

namespace berth::scheduler {

// Ok, or Internal naming the first sum that does not come out.
Status CheckBalance(const Counters& counters);

}  // namespace berth::scheduler

#endif  // BERTH_SCHEDULER_COUNTERS_H_
