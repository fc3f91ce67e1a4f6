// FaultPlan: what goes wrong in a FaultStorage. Plain data, so that a driver can draw plans from a
// seed and print the one that failed.
#ifndef BERTH_IO_STORAGE_FAULT_PLAN_H_
#define BERTH_IO_STORAGE_FAULT_PLAN_H_

#include <cstdint>
#include <vector>

namespace berth::io {

// What happens to one read. The rules of ReadProgress then decide what the caller sees.
enum class Fault : uint8_t {
  kShortRead,        // the first part comes alone, cut inside a page: ok, 1 retry
  kBusyRecovers,     // EAGAIN one to three times: ok, with retries
  kBusyStays,        // EAGAIN for ever: Unavailable after the bound on retries (half a second)
  kIoErrorRecovers,  // EIO once: ok, 1 retry
  kIoErrorStays,     // EIO at every try: Unavailable
  kEndOfFile,        // the file has become shorter: DataLoss
  kBitFlip,          // ok, but one bit of the first `need` bytes is wrong
};
inline constexpr int kFaultKinds = 7;

// A fault at a place: it meets the reads whose first `need` bytes touch [begin, end) of the file.
struct FaultRange {
  Fault fault = Fault::kIoErrorStays;
  uint32_t file = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t times = 0;  // how many reads it meets, the first to be submitted; 0: all of them
};

struct FaultPlan {
  // Which reads the rates meet, where bits flip and how reads are cut depends on the seed, the
  // read's file and offset, and how often that place was read before. Timing has no influence.
  uint64_t seed = 1;

  // Time. Each read is late by a random time up to `delay_us_max`; together they arrive no faster
  // than `bytes_per_second` (0: as fast as they come).
  uint32_t delay_us_max = 0;
  uint64_t bytes_per_second = 0;
  // Up to this many finished reads are held back and delivered in random order. They are let go
  // when nothing else is under way, so nothing hangs.
  uint32_t hold_back = 0;

  // Fraction of reads that meet each fault, 0 to 1, by Fault; independent of each other.
  double rates[kFaultKinds] = {};
  std::vector<FaultRange> ranges;

  double& rate(Fault fault) { return rates[static_cast<int>(fault)]; }
  double rate(Fault fault) const { return rates[static_cast<int>(fault)]; }
};

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_FAULT_PLAN_H_
