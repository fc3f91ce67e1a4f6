// A file of random bytes for the read benchmarks, made once and kept.
#ifndef BERTH_BENCH_BENCH_FILE_H_
#define BERTH_BENCH_BENCH_FILE_H_

#include <cstdint>
#include <string>

#include "berth/status.h"

namespace berth::bench {

// Makes `path` with `bytes` (a multiple of 4096) random bytes, on the drive and out of the page
// cache, unless a file of that size is there.
Status MakeBenchFile(const std::string& path, uint64_t bytes);

}  // namespace berth::bench

#endif  // BERTH_BENCH_BENCH_FILE_H_
