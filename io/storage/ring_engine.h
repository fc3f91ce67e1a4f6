// RingEngine: the owner thread of the io_uring storage. Everything here runs on that one thread.
//
//   free -> prepared -> in the kernel -> done (sink)
//             ^------ waiting for another try <-'
//
// A place (one of queue_depth) belongs to a read from the moment that it is taken until its result
// has gone to the sink, retries included; reads start in the order of Submit.
//
// Submission can fail: for now (EAGAIN, EBUSY, ENOMEM), and then what was not taken stays prepared
// and is offered again; or for good, and then reads that the kernel never took fail, those it has
// are waited for, and all later ones fail with the same reason. None is lost.
#ifndef BERTH_IO_STORAGE_RING_ENGINE_H_
#define BERTH_IO_STORAGE_RING_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "berth/status.h"
#include "io/storage.h"
#include "io/storage/buffer_table.h"
#include "io/storage/file_set.h"
#include "io/storage/read_progress.h"
#include "io/storage/read_queue.h"
#include "io/storage/ring.h"
#include "io/storage/system.h"

namespace berth::io {

class RingEngine {
 public:
  struct Setup {
    std::vector<BufferRegion> buffers;
    uint32_t queue_depth = 64;
    bool registered = false;
    int wake_fd = -1;  // eventfd that Submit and Close write
  };

  // `queue` must outlive the engine.
  RingEngine(ReadQueue* queue, Setup setup);

  // Makes the ring, registers, and proves it with a real read of each file. The error is the
  // reason to step down.
  Status Open(const FileSet& files, StorageSystem* system);
  // Where the files of Open() live from now on.
  void SetFiles(const FileSet* files) { files_ = files; }
  // Serves the queue until it is closed and everything has completed.
  void Run();

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { kFree, kInKernel, kWaiting };
  struct Place {
    ReadProgress progress;
    State state = State::kFree;
    uint32_t generation = 0;  // part of user_data: a completion must be of the read it names
    Clock::time_point due;    // of a waiting read
  };

  Status RegisterBuffers(StorageSystem* system);
  Status Probe(const FileSet& files);
  int64_t ReadAlone(const RingRead& read);

  void StartReads();
  void StartWaiting();
  void CancelWaiting();
  void Begin(const ReadRequest& read);
  void Prepare(uint32_t place);
  void ArmWake();
  void SubmitAndWait();
  std::optional<std::chrono::nanoseconds> WaitTime();
  void SubmitFailed(int error);
  void Break(int error);
  void Reap();
  void Arrived(const RingCompletion& completion);
  void Advance(uint32_t place, int64_t result);
  void Release(uint32_t place, const ReadResult& result);
  bool Idle() const { return in_kernel_ == 0 && waiting_ == 0 && !wake_armed_; }

  ReadQueue* const queue_;
  const Setup setup_;
  BufferTable table_;
  const FileSet* files_ = nullptr;
  std::unique_ptr<Ring> ring_;
  bool files_registered_ = false;
  std::vector<Place> places_;
  std::vector<uint32_t> free_;
  std::vector<uint64_t> prepared_;  // user_data in the order prepared, since the last submission
  std::vector<RingCompletion> reaped_;
  uint32_t in_kernel_ = 0;  // prepared or taken by the kernel
  uint32_t waiting_ = 0;
  bool wake_armed_ = false;
  uint64_t wake_count_ = 0;       // the eventfd's counter is read into it
  uint32_t submit_failures_ = 0;  // in a row
  Status broken_;                 // why the ring takes nothing any more
};

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_RING_ENGINE_H_
