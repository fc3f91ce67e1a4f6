// What misses cost on the machine of a profile, in the form that the core decides by.
#ifndef BERTH_RUNTIME_SIMULATE_MISS_COSTS_H_
#define BERTH_RUNTIME_SIMULATE_MISS_COSTS_H_

#include <span>

#include "berth/options.h"
#include "runtime/config/machine_profile.h"
#include "scheduler/core.h"

namespace berth {

// For core.geometry, core.exact_rows and core.chunk on these cards. A run and a simulation with the
// same profile, cards and model get the same figures: what a profile leaves out is what the
// simulator assumes, and a link rate that was imposed because the profile has it is no other link.
scheduler::MissCosts MissCostsOf(const MachineProfile& profile, std::span<const CardConfig> cards,
                                 const scheduler::CoreOptions& core);

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_MISS_COSTS_H_
