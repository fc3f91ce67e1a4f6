// Another program measured in turns with a benchmark.
#ifndef BERTH_BENCH_YARDSTICK_H_
#define BERTH_BENCH_YARDSTICK_H_

#include <string>
#include <utility>
#include <vector>

#include "berth/status.h"

namespace berth::bench {

// `command` with every name, "{policy}" say, replaced by its value.
std::string Filled(std::string command,
                   const std::vector<std::pair<std::string, std::string>>& values);

// Runs a shell command; the last number of what it prints on its standard output. An error where
// it fails or prints none.
Result<double> LastNumberOf(const std::string& command);

}  // namespace berth::bench

#endif  // BERTH_BENCH_YARDSTICK_H_
