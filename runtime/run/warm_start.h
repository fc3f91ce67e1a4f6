// Warm starts: heat from a file into a runtime's options, and what it learned into a file.
#ifndef BERTH_RUNTIME_RUN_WARM_START_H_
#define BERTH_RUNTIME_RUN_WARM_START_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/options.h"
#include "berth/status.h"

namespace berth {

// Sets heat and preload from a heat file. InvalidArgument where it is of another shape, or knows
// nothing of any unit.
Status ReadWarmStart(const std::string& path, uint32_t layers, uint32_t experts,
                     RuntimeOptions* options);

// Writes heat as Runtime::Learned gives it; replaces what is there, whole or not at all. `source`
// says in the file where it comes from.
Status SaveLearned(const std::string& path, uint32_t layers, uint32_t experts,
                   std::vector<double> heat, const std::string& source);

}  // namespace berth

#endif  // BERTH_RUNTIME_RUN_WARM_START_H_
