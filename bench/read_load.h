// A closed loop of random unit reads through OpenStorage: what read_bench measures.
#ifndef BERTH_BENCH_READ_LOAD_H_
#define BERTH_BENCH_READ_LOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"

namespace berth::bench {

// One read of a unit: `head` bytes behind a multiple of 4096, `bytes` long.
struct UnitShape {
  std::vector<uint32_t> extents;  // bytes of each; read side by side
  bool aligned = true;            // false: every extent begins at a random byte

  uint64_t bytes() const;           // useful bytes of a unit
  uint64_t read_bytes_max() const;  // with the alignment of every extent
};

struct ReadLoad {
  std::string path;
  UnitShape unit;
  uint32_t depth = 8;  // units in flight
  double seconds = 1;
  std::string engine = "auto";
  uint64_t seed = 1;
};

struct LoadResult {
  std::string rung;
  std::string reason;
  double gb_per_s = 0;         // read from the drive, alignment included
  double useful_gb_per_s = 0;  // of the units
  double p50_ms = 0;           // of a unit, from Submit to its last extent
  double p99_ms = 0;
  double cpu_us_per_read = 0;  // of this process, user and system, per extent
  uint64_t reads = 0;
  uint64_t buffer_bytes = 0;
  uint64_t huge_bytes = 0;  // of the buffers
};

// An error of any read ends the load and is the result.
Result<LoadResult> RunReadLoad(const ReadLoad& load);

}  // namespace berth::bench

#endif  // BERTH_BENCH_READ_LOAD_H_
