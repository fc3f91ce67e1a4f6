// The same random reads by fio, as the measure of what the file can give.
#ifndef BERTH_BENCH_FIO_RUN_H_
#define BERTH_BENCH_FIO_RUN_H_

#include <cstdint>
#include <string>

#include "berth/status.h"

namespace berth::bench {

struct FioRun {
  std::string path;
  uint64_t block_bytes = 0;
  uint32_t depth = 1;
  double seconds = 1;
  bool registered = true;  // --fixedbufs and --registerfiles
  uint64_t seed = 1;
};

struct FioResult {
  double gb_per_s = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double cpu_us_per_read = 0;
};

bool HaveFio();
Result<FioResult> RunFio(const FioRun& run);

}  // namespace berth::bench

#endif  // BERTH_BENCH_FIO_RUN_H_
