// The one file that knows liburing. Written against 2.3 (Debian 12).
#include <liburing.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "io/storage/ring.h"

namespace berth::io {
namespace {

// One thread submits and reaps (SINGLE_ISSUER), and the kernel runs completion work only when that
// thread asks (DEFER_TASKRUN, Linux 6.1), which saves an interruption per read. No SQPOLL, which
// burns a core, and no IOPOLL, which needs drives set up for it: neither made reads faster.
constexpr std::array<unsigned, 3> kSetupFlags = {
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN,  // Linux 5.19
    0,
};

class UringRing final : public Ring {
 public:
  UringRing() = default;
  ~UringRing() override {
    if (ready_) io_uring_queue_exit(&ring_);
  }

  int Setup(uint32_t entries) {
    int error = 0;
    for (const unsigned flags : kSetupFlags) {
      io_uring_params params = {};
      params.flags = flags;
      error = io_uring_queue_init_params(entries, &ring_, &params);
      if (error != -EINVAL) break;
    }
    ready_ = error == 0;
    return error;
  }

  int RegisterBuffers(std::span<const iovec> buffers) override {
    return io_uring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size()));
  }

  int RegisterFiles(std::span<const int> fds) override {
    return io_uring_register_files(&ring_, fds.data(), static_cast<unsigned>(fds.size()));
  }

  bool Prepare(const RingRead& read) override {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) return false;
    if (read.buffer == kNoBuffer) {
      io_uring_prep_read(sqe, read.file, read.destination, read.length, read.offset);
    } else {
      io_uring_prep_read_fixed(sqe, read.file, read.destination, read.length, read.offset,
                               read.buffer);
    }
    if (read.file_is_index) sqe->flags |= IOSQE_FIXED_FILE;
    sqe->user_data = read.user_data;
    return true;
  }

  int Submit(std::optional<std::chrono::nanoseconds> timeout) override {
    int result = 0;
    if (!timeout.has_value()) {
      result = io_uring_submit_and_wait(&ring_, 1);
    } else if (timeout->count() <= 0) {
      result = io_uring_submit_and_get_events(&ring_);
    } else {
      __kernel_timespec until = {};
      until.tv_sec = timeout->count() / 1'000'000'000;
      until.tv_nsec = timeout->count() % 1'000'000'000;
      io_uring_cqe* first = nullptr;
      result = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &until, nullptr);
      if (result == -ETIME) result = 0;
    }
    return result < 0 ? result : 0;
  }

  void Deliver() override { io_uring_get_events(&ring_); }

  uint32_t Unsubmitted() const override { return io_uring_sq_ready(&ring_); }

  uint32_t Reap(std::span<RingCompletion> completions) override {
    uint32_t count = 0;
    unsigned head = 0;
    unsigned seen = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      if (count == completions.size()) break;
      ++seen;
      // Kernels before 5.11 play the timeout of a wait as an entry of its own.
      if (cqe->user_data == LIBURING_UDATA_TIMEOUT) continue;
      completions[count++] = {cqe->user_data, cqe->res};
    }
    io_uring_cq_advance(&ring_, seen);
    return count;
  }

 private:
  io_uring ring_ = {};
  bool ready_ = false;
};

std::string WhyRefused(int error) {
  std::string why = std::strerror(error);
  if (error == EPERM) {
    int disabled = 0;
    std::ifstream sysctl("/proc/sys/kernel/io_uring_disabled");
    if (sysctl >> disabled && disabled != 0) {
      why += " (blocked by sysctl kernel.io_uring_disabled=" + std::to_string(disabled) + ")";
    } else {
      why += " (a container or security profile blocks io_uring_setup)";
    }
  } else if (error == ENOSYS) {
    why += " (this kernel, or a container's profile, has no io_uring)";
  } else if (error == ENOMEM) {
    why += " (older kernels count rings against the memlock limit: raise ulimit -l)";
  }
  return why;
}

}  // namespace

Result<std::unique_ptr<Ring>> MakeRing(uint32_t entries) {
  auto ring = std::make_unique<UringRing>();
  const int error = ring->Setup(entries);
  if (error != 0) return UnavailableError(WhyRefused(-error));
  return std::unique_ptr<Ring>(std::move(ring));
}

}  // namespace berth::io
