// The grouped expert call on the host, in F32 activations: plain portable code.
//
// A (row, k) pair's result is a pure function of the unit's bytes, the row and the siblings: it
// does not depend on the wave, the other rows, the threads or their number.
#ifndef BERTH_KERNELS_EXPERT_HOST_EXPERT_H_
#define BERTH_KERNELS_EXPERT_HOST_EXPERT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "berth/status.h"
#include "kernels/expert/grouped_call.h"
#include "kernels/host/worker_pool.h"

namespace berth::kernels {

// Scratch memory for grouped calls, sized once for the largest layer and number of pairs. One per
// stream that computes: not shared between calls that run at once.
class HostExpertWorkspace {
 public:
  HostExpertWorkspace(WorkerPool* pool, uint32_t max_hidden, uint32_t max_ffn, uint32_t max_pairs);
  ~HostExpertWorkspace();
  HostExpertWorkspace(const HostExpertWorkspace&) = delete;
  HostExpertWorkspace& operator=(const HostExpertWorkspace&) = delete;

  uint64_t bytes() const;
  // Runs the call. addresses[i] is the address of call.units[i], already resolved. No allocation.
  void Run(const GroupedCall& call, std::span<const std::byte* const> addresses);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The weighted sum, on the calling thread.
void HostReduce(const ReduceCall& call);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_EXPERT_HOST_EXPERT_H_
