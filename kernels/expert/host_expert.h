// The grouped expert call on the host.
//
// A (row, k) pair's result is a pure function of the unit's bytes, the row, the siblings and the
// number of pairs that the unit has in the call: it does not depend on the wave, the order of the
// pairs, the instruction set, the threads or their number.
#ifndef BERTH_KERNELS_EXPERT_HOST_EXPERT_H_
#define BERTH_KERNELS_EXPERT_HOST_EXPERT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "berth/status.h"
#include "kernels/exact/isa.h"
#include "kernels/expert/arithmetic.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/host/worker_pool.h"

namespace berth::kernels {

struct HostMath {
  Arithmetic arithmetic;
  Isa isa = BestIsa();  // one of UsableIsas()
};

// Scratch memory for grouped calls, sized once for the largest layer and number of pairs. One per
// stream that computes: not shared between calls that run at once.
class HostExpertWorkspace {
 public:
  HostExpertWorkspace(WorkerPool* pool, uint32_t max_hidden, uint32_t max_ffn, uint32_t max_pairs,
                      const HostMath& math = HostMath());
  ~HostExpertWorkspace();
  HostExpertWorkspace(const HostExpertWorkspace&) = delete;
  HostExpertWorkspace& operator=(const HostExpertWorkspace&) = delete;

  uint64_t bytes() const;
  // What bytes() will be.
  static uint64_t PlannedBytes(uint32_t threads, uint32_t max_hidden, uint32_t max_ffn,
                               uint32_t max_pairs, const Arithmetic& arithmetic);
  // Runs the call. addresses[i] is the address of call.units[i], already resolved. No allocation.
  // InvalidArgument, and nothing written, for an input that is infinite or no number. Weights that
  // make a result infinite or no number are no error.
  Status Run(const GroupedCall& call, std::span<const std::byte* const> addresses);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The weighted sum, on the calling thread.
void HostReduce(const ReduceCall& call);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_HOST_EXPERT_H_
