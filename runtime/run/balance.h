// A report that does not balance is an error.
#ifndef BERTH_RUNTIME_RUN_BALANCE_H_
#define BERTH_RUNTIME_RUN_BALANCE_H_

#include "berth/stats.h"
#include "berth/status.h"

namespace berth {

// The core's sums, and what it decided to move against what drivers saw moving. `all_done`: every
// step and every transfer succeeded and nothing is under way any more; without it only the
// decisions are checked.
Status CheckReportBalance(const Stats& stats, bool all_done);

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_BALANCE_H_
