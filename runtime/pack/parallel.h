// Jobs over a few threads, for work whose pace the drive sets, and how far it has come.
#ifndef BERTH_RUNTIME_PACK_PARALLEL_H_
#define BERTH_RUNTIME_PACK_PARALLEL_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "berth/status.h"

namespace berth::models {

// Told about progress from any thread.
class Progress {
 public:
  // A new phase of so many bytes.
  virtual void Begin(std::string_view what, uint64_t total_bytes) = 0;
  virtual void Add(uint64_t bytes) = 0;

 protected:
  ~Progress() = default;
};

// Between one and four: enough to generate or hash while a write or a read is under way.
uint32_t DefaultThreads();

// Calls job(index, worker) once for each index in [0, jobs), worker in [0, threads). After a
// failure no new job begins. Returns the failure with the smallest index among those that happened.
Status RunJobs(uint64_t jobs, uint32_t threads,
               const std::function<Status(uint64_t index, uint32_t worker)>& job);

}  // namespace berth::models

#endif  // BERTH_RUNTIME_PACK_PARALLEL_H_
