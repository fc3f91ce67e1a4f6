#include "runtime/probe/host_read.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "arena/host_region.h"
#include "kernels/host/worker_pool.h"
#include "runtime/base/math.h"
#include "runtime/probe/probe_memory.h"

namespace berth::probe {
namespace {

constexpr uint64_t kPiece = 1 << 20;

struct Read {
  const std::byte* memory;
  std::atomic<uint64_t> sum = 0;  // so that reading is no work without effect
};

void ReadPieces(void* context, uint32_t begin, uint32_t end, uint32_t) {
  Read& read = *static_cast<Read*>(context);
  constexpr size_t kLanes = 16;  // more sums than one, so that none waits for another
  uint64_t sums[kLanes] = {};
  for (uint64_t at = begin * kPiece; at < end * kPiece; at += sizeof(sums)) {
    uint64_t words[kLanes];
    std::memcpy(words, read.memory + at, sizeof(words));
    for (size_t i = 0; i < kLanes; ++i) sums[i] += words[i];
  }
  uint64_t sum = 0;
  for (const uint64_t lane : sums) sum += lane;
  read.sum += sum;
}

}  // namespace

Result<double> HostReadRate(uint64_t bytes, uint32_t threads, std::span<const uint32_t> processors,
                            const TimingOptions& timing) {
  BERTH_ASSIGN_OR_RETURN(const uint64_t available, arena::AvailableHostBytes());
  const uint64_t pieces = std::max<uint64_t>(1, std::min(bytes, available / 4) / kPiece);
  arena::HostRegionOptions options;
  options.bytes = pieces * kPiece;
  options.lock = false;
  options.purpose = "memory to read";
  BERTH_ASSIGN_OR_RETURN(const arena::HostRegion region, arena::HostRegion::Create(options));
  std::memset(region.data(), 1, pieces * kPiece);
  std::unique_ptr<kernels::WorkerPool> pool;
  try {
    pool = kernels::MakeWorkerPool(threads, processors);
  } catch (const std::exception& error) {  // what std::thread or oneTBB throw
    return ResourceExhaustedError(std::string("no threads to read with: ") + error.what());
  }
  Read read{region.data()};
  const auto all = [&](uint32_t times) -> Result<double> {
    const double begin = SecondsNow();
    for (uint32_t i = 0; i < times; ++i) {
      pool->ParallelFor(static_cast<uint32_t>(pieces), 1, ReadPieces, &read);
    }
    return SecondsNow() - begin;
  };
  BERTH_ASSIGN_OR_RETURN(const double seconds, TimeAlone(timing, all));
  if (read.sum == 0) return InternalError("memory was not read");
  return static_cast<double>(pieces * kPiece) / seconds;
}

}  // namespace berth::probe
