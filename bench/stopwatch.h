// Seconds by the wall or by the processor time of the process.
#ifndef BERTH_BENCH_STOPWATCH_H_
#define BERTH_BENCH_STOPWATCH_H_

#include <cstdint>
#include <ctime>

namespace berth::bench {

// Processor time leaves out what others on a shared machine take from a single thread; with more
// threads it would add up their work, so the wall counts there.
enum class Clock : uint8_t { kWall, kProcessor };

class Stopwatch {
 public:
  explicit Stopwatch(Clock clock)
      : id_(clock == Clock::kWall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID), begin_(Now()) {}

  double Seconds() const { return Now() - begin_; }

 private:
  double Now() const {
    timespec time = {};
    clock_gettime(id_, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  clockid_t id_;
  double begin_;
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_STOPWATCH_H_
