// SimulatedRead: one read as a faulty system serves it, through the product's own rules
// (io::ReadProgress), and how much of it is really there.
//
// The rules see what an engine would show them: byte counts and errno values. The truth is kept
// apart from them: a read that they take for whole and that lacks a byte is found out.
#ifndef BERTH_TESTS_SCHEDULER_SIMULATED_READ_H_
#define BERTH_TESTS_SCHEDULER_SIMULATED_READ_H_

#include <cstdint>
#include <string_view>

#include "berth/status.h"
#include "io/storage/read_progress.h"
#include "tests/scheduler/faults.h"

namespace berth::scheduler {

class SimulatedRead {
 public:
  SimulatedRead() = default;
  // Draws what will happen. `broken`: EIO at every try.
  SimulatedRead(uint64_t offset, uint32_t bytes, bool broken, Faults* faults, Random* random);

  // The system's next result. True: the read is over. Else the next one comes in `delay` ticks.
  bool Advance(Random* random, uint64_t* delay);
  uint32_t results() const { return results_; }
  // No read may need more results than this, whatever goes wrong.
  static uint32_t MostResults(uint32_t bytes);

  // What the core is told.
  Status Finish(std::string_view path) const { return progress_.Finish(path).status; }
  // What is true, by the bytes that came.
  bool whole() const { return covered_ >= progress_.request().need; }
  bool flipped() const { return flipped_; }

 private:
  int64_t NextResult(const io::ReadProgress::Range& range, Random* random);

  io::ReadProgress progress_;
  uint32_t covered_ = 0;  // bytes of the request, without a gap
  uint32_t results_ = 0;
  // Still to come.
  uint32_t io_errors_ = 0;
  uint32_t storm_ = 0;
  uint32_t shorts_ = 0;
  uint32_t stalls_ = 0;
  uint32_t end_ = 0;  // where the file ends, relative to the request
  bool too_long_ = false;
  bool flipped_ = false;
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_SIMULATED_READ_H_
