// A StorageSystem that can be told to refuse, and a ring that reads with pread, to play kernels and
// limits that this machine does not have.
#ifndef BERTH_TESTS_IO_FAKE_SYSTEM_H_
#define BERTH_TESTS_IO_FAKE_SYSTEM_H_

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "io/storage/system.h"

namespace berth::io {

// What the ring of a FakeSystem does. Shared with the test, which may change it while it runs.
struct FakeRingScript {
  std::atomic<int> register_buffers{0};  // result of the call
  std::atomic<int> register_files{0};
  std::atomic<int> submit_error{0};          // while set, Submit takes nothing and returns it
  std::atomic<int> submit_failures_left{0};  // with submit_error: how often; 0 means for ever
  std::atomic<uint32_t> take_at_once{0};     // reads taken per Submit; 0: all
  std::atomic<bool> hold{false};             // reads that were taken do not complete
  std::atomic<uint64_t> fixed_reads{0};      // reads that named a registered buffer
  std::atomic<uint64_t> reads{0};
  // What a read comes to instead of being done: called in the order taken, from the ring's thread.
  // 1 for "do it", otherwise the result.
  std::function<int64_t(const RingRead&)> result;
};

class FakeRing : public Ring {
 public:
  explicit FakeRing(FakeRingScript* script) : script_(script) {}

  int RegisterBuffers(std::span<const iovec> buffers) override {
    buffers_.assign(buffers.begin(), buffers.end());
    return script_->register_buffers;
  }
  int RegisterFiles(std::span<const int> fds) override {
    if (script_->register_files == 0) files_.assign(fds.begin(), fds.end());
    return script_->register_files;
  }
  bool Prepare(const RingRead& read) override {
    prepared_.push_back(read);
    return true;
  }
  int Submit(std::optional<std::chrono::nanoseconds> timeout) override {
    if (const int error = script_->submit_error; error != 0) {
      if (script_->submit_failures_left == 0) return error;
      if (--script_->submit_failures_left == 0) script_->submit_error = 0;
      return error;
    }
    uint32_t left = script_->take_at_once != 0 ? script_->take_at_once.load() : ~0u;
    for (; !prepared_.empty() && left > 0; --left) {
      Take(prepared_.front());
      prepared_.pop_front();
    }
    if (!prepared_.empty()) return 0;  // as the kernel does, which then does not wait
    WaitForSomething(timeout);
    return 0;
  }
  void Deliver() override {}
  uint32_t Unsubmitted() const override { return static_cast<uint32_t>(prepared_.size()); }
  uint32_t Reap(std::span<RingCompletion> completions) override {
    uint32_t count = 0;
    FinishTaken();
    PollWake();
    for (; count < completions.size() && !done_.empty(); done_.pop_front()) {
      completions[count++] = done_.front();
    }
    return count;
  }

 private:
  void Take(const RingRead& read) {
    if (read.length == sizeof(uint64_t)) {
      wake_.push_back(read);
    } else {
      taken_.push_back(read);
    }
  }

  void FinishTaken() {
    if (script_->hold) return;
    for (; !taken_.empty(); taken_.pop_front()) {
      const RingRead& read = taken_.front();
      ++script_->reads;
      if (read.buffer != kNoBuffer) ++script_->fixed_reads;
      int64_t result = script_->result ? script_->result(read) : 1;
      if (result == 1) {
        const int fd = read.file_is_index ? files_[read.file] : read.file;
        result = ::pread(fd, read.destination, read.length, static_cast<off_t>(read.offset));
        if (result < 0) result = -errno;
      }
      done_.push_back({read.user_data, static_cast<int32_t>(result)});
    }
  }

  bool PollWake(int timeout_ms = 0) {
    if (wake_.empty()) return false;
    pollfd poll = {.fd = wake_.front().file, .events = POLLIN, .revents = 0};
    if (::poll(&poll, 1, timeout_ms) <= 0) return false;
    const auto bytes = ::read(poll.fd, wake_.front().destination, sizeof(uint64_t));
    done_.push_back({wake_.front().user_data, static_cast<int32_t>(bytes)});
    wake_.pop_front();
    return true;
  }

  void WaitForSomething(std::optional<std::chrono::nanoseconds> timeout) {
    const auto until = std::chrono::steady_clock::now() + timeout.value_or(std::chrono::hours(1));
    for (;;) {
      FinishTaken();
      if (!done_.empty() || PollWake(1)) return;
      if (wake_.empty()) ::usleep(100);
      if (std::chrono::steady_clock::now() >= until) return;
    }
  }

  FakeRingScript* const script_;
  std::vector<iovec> buffers_;
  std::vector<int> files_;
  std::deque<RingRead> prepared_;
  std::deque<RingRead> taken_;
  std::deque<RingRead> wake_;
  std::deque<RingCompletion> done_;
};

// Like the machine's, but rings are FakeRings, and with a switch for each refusal.
class FakeSystem : public StorageSystem {
 public:
  Status ring_refusal;                    // of making a ring
  std::atomic<int> direct_open_error{0};  // errno of opening with O_DIRECT
  std::atomic<int> direct_read_error{0};  // errno of a pread on a file opened with O_DIRECT
  uint64_t memlock = 8u << 20;
  FakeRingScript ring;

  int Open(const char* path, int flags) override {
    if ((flags & O_DIRECT) != 0 && direct_open_error != 0) return -direct_open_error;
    return StorageSystem::Open(path, flags);
  }
  int64_t Pread(int fd, std::byte* destination, size_t length, uint64_t offset) override {
    if (direct_read_error != 0 && (::fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
      return -direct_read_error;
    }
    return StorageSystem::Pread(fd, destination, length, offset);
  }
  Result<std::unique_ptr<Ring>> NewRing(uint32_t) override {
    if (!ring_refusal.ok()) return ring_refusal;
    return std::unique_ptr<Ring>(std::make_unique<FakeRing>(&ring));
  }
  uint64_t MemlockLimit() override { return memlock; }
};

}  // namespace berth::io

#endif  // BERTH_TESTS_IO_FAKE_SYSTEM_H_
