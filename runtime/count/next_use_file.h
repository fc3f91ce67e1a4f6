// NextUseFile: for every unit of every step, when it is used next, for policies that need the
// future. On disk, so that memory does not grow with the trace: 8 bytes each.
//
//   OfTrace (Append...  ->  Finish)  ->  Read...
//
// Append writes who was used, in the order of the trace; Finish goes over the file backwards, some
// steps at a time, and puts in the place of each entry when its unit is used next. The file has no
// name: it is gone however the process ends.
//
// Uses are numbered one by one, those of a later step above those of an earlier one. Within a step
// the order is that of the uses that follow: where one of two units that are used next in the same
// step has to leave, it should be the one that is not needed soon afterwards, because the other
// one, once it is found, cannot leave for it in that step.
#ifndef BERTH_RUNTIME_COUNT_NEXT_USE_FILE_H_
#define BERTH_RUNTIME_COUNT_NEXT_USE_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "runtime/count/step_reader.h"

namespace berth::count {

class NextUseFile {
 public:
  static constexpr uint32_t kMostUnits = 1u << 24;

  // Reads the whole trace. `first_uses`: they are kept, too, at each reset. InvalidArgument for a
  // trace of more than kMostUnits units, ResourceExhausted where the disk is full.
  static Result<NextUseFile> OfTrace(TraceFile* trace, const CountWorkload& workload,
                                     bool first_uses);
  NextUseFile(NextUseFile&& other) noexcept;
  NextUseFile& operator=(NextUseFile&&) = delete;
  ~NextUseFile();

  // Fills block->next_uses and block->first_uses; the same blocks in the same order.
  Status Read(StepBlock* block);
  // The same in smaller pieces: where a reset was, then of as many uses as come next.
  Status ReadReset(std::vector<uint64_t>* first_uses);
  Status ReadUses(std::span<uint64_t> next_uses);

 private:
  // `folder` empty: the system's folder for temporary files.
  static Result<NextUseFile> Create(const std::string& folder, uint32_t units, bool first_uses);
  NextUseFile(std::string folder, int fd, uint32_t units, bool first_uses);
  Status Append(const StepBlock& block, Granularity granularity);
  Status Finish();
  void FillStep(uint64_t first_use, std::span<uint64_t> step);
  Status Write(uint64_t offset, std::span<const uint64_t> entries);
  Status ReadAt(uint64_t offset, std::span<uint64_t> entries);

  std::string folder_;
  int fd_;
  bool first_uses_;
  uint64_t entries_ = 0;  // in the file
  uint64_t read_ = 0;     // of them, into the buffer
  std::vector<uint64_t> buffer_;
  size_t given_ = 0;            // of the buffer, to readers
  std::vector<uint64_t> next_;  // by unit, in Finish
  std::vector<uint32_t> order_;
};

}  // namespace berth::count

#endif  // BERTH_RUNTIME_COUNT_NEXT_USE_FILE_H_
