// CompletionThread: one per card; finds out that work is done and tells whoever waits to be told.
#ifndef BERTH_KERNELS_GPU_COMPLETION_THREAD_H_
#define BERTH_KERNELS_GPU_COMPLETION_THREAD_H_

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/mutex.h"

namespace berth::kernels::gpu {

// Polls as long as anything is on its way: without pause at first, then in steps that grow. A
// driver that calls back from a thread of its own would be slower, and may not be called from
// there.
class CompletionThread {
 public:
  class Client {
   public:
    // On the thread, with none of its locks held: tells of the oldest of what is on its way, if
    // that is done; false where it is not.
    virtual bool DeliverOldest() = 0;

   protected:
    ~Client() = default;
  };

  explicit CompletionThread(const std::string& name);
  ~CompletionThread();

  void Add(Client* client) BERTH_EXCLUDES(mutex_);
  // Returns when the client is not being called and will not be again. Nothing of it is on its way.
  void Remove(Client* client) BERTH_EXCLUDES(mutex_);
  // One more is on its way.
  void Posted() BERTH_EXCLUDES(mutex_);

  bool IsThisThread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void Loop(std::string name);
  // Of all clients, until none has anything that is done; how many were delivered.
  uint32_t Round() BERTH_REQUIRES(mutex_);
  void Pause(uint32_t idle_rounds);

  Mutex mutex_;
  CondVar work_;
  CondVar left_;  // the client that was being called
  std::vector<Client*> clients_ BERTH_GUARDED_BY(mutex_);
  Client* called_ BERTH_GUARDED_BY(mutex_) = nullptr;
  // Below 0 for a moment where one is delivered before Posted has counted it.
  int64_t on_the_way_ BERTH_GUARDED_BY(mutex_) = 0;
  bool closing_ BERTH_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_COMPLETION_THREAD_H_
