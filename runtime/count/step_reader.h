// StepReader: a trace as blocks of steps, which any number of policies then play one after the
// other while the block is in the cache.
#ifndef BERTH_RUNTIME_COUNT_STEP_READER_H_
#define BERTH_RUNTIME_COUNT_STEP_READER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "runtime/count/count.h"
#include "runtime/run/pass_source.h"
#include "runtime/trace/trace.h"

namespace berth::count {

// Units of a block up to `end`, of one layer. Step by step: one step's distinct units in order of
// first appearance, perhaps none. Access by access: what one row routes to, each a step of its own.
struct Run {
  uint64_t pass = 0;
  uint32_t end = 0;
  uint32_t layer = 0;
};

struct StepBlock {
  bool reset = false;    // before the block begins, everything is forgotten; true for the first
  bool counted = false;  // no warm-up
  std::vector<UnitIndex> units;
  std::vector<uint32_t> rows;        // step by step: how many of the step route to each of `units`
  std::vector<uint64_t> next_uses;   // of each of `units`, where there are policies that ask
  std::vector<uint64_t> first_uses;  // after a reset, of each unit of the model; likewise
  std::vector<Run> runs;
};

class StepReader {
 public:
  // The trace must outlive the reader and be read by nobody else.
  static Result<StepReader> Create(TraceFile* trace, const CountWorkload& workload);

  // The next block of whole passes; false at the end. Some thousand units, or one pass where that
  // has more; it ends where a reset or the counting begins.
  Result<bool> Next(StepBlock* block);

  // So far, of what is counted.
  const std::vector<uint64_t>& layer_lookups() const { return layer_lookups_; }
  uint64_t passes() const { return passes_.passes(); }
  uint64_t passes_read() const { return passes_read_; }

 private:
  StepReader(TraceFile* trace, const CountWorkload& workload, PassSource passes);
  Status Gather();
  void AppendSteps(StepBlock* block);
  void AppendAccesses(StepBlock* block);
  bool CountedPass() const { return passes_read_ >= warmup_passes_; }

  TraceFile* trace_;
  PassSource passes_;
  Granularity granularity_;
  bool resets_;
  uint64_t warmup_passes_;
  std::span<const uint64_t> rows_;       // of the pass that comes next
  uint64_t passes_read_ = 0;             // given in blocks
  std::span<const int32_t> ids_;         // of that pass, [rows][layers][top_k]
  std::vector<int32_t> gathered_;        // the same, where it has several rows
  std::vector<uint64_t> last_step_;      // by unit
  std::vector<size_t> place_;            // by unit, in a block; of a unit of the step at hand
  std::vector<uint64_t> layer_lookups_;  // [layers]
  uint64_t step_ = 0;
};

}  // namespace berth::count

#endif  // BERTH_RUNTIME_COUNT_STEP_READER_H_
