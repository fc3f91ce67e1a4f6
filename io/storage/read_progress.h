// ReadProgress: what becomes of one read, result by result. Pure: no system call, no clock.
//
// The engines ask it what to read next and tell it what came back; every rule about short reads,
// ends of file and errors worth another try stands here and nowhere else.
//
//   Next() -> the engine reads that range -> Advance(result) -> kDone | kAgain | kAgainAfterDelay
//
// A resumed read starts at the last page that is not full yet: direct reads at an offset that is
// no multiple of the page are refused with EINVAL.
#ifndef BERTH_IO_STORAGE_READ_PROGRESS_H_
#define BERTH_IO_STORAGE_READ_PROGRESS_H_

#include <cstdint>
#include <string_view>

#include "berth/status.h"
#include "io/storage.h"

namespace berth::io {

// Ok, or why the request can never be read; `files` is the number of files that are open.
Status ValidateRead(const ReadRequest& request, size_t files);

class ReadProgress {
 public:
  // Tries that the system asked for (EAGAIN, EINTR, EBUSY, ENOMEM) without a byte between them.
  // With the delays below they last about half a second.
  static constexpr uint32_t kTransientMax = 64;
  // Short results in a row that leave the read inside the same page.
  static constexpr uint32_t kStallsMax = 4;

  enum class Action : uint8_t {
    kDone,             // bytes() arrived, or failed() says why not
    kAgain,            // read Next() now
    kAgainAfterDelay,  // read Next() in delay_us()
  };
  struct Range {
    uint64_t offset = 0;  // in the file
    uint32_t length = 0;
    std::byte* destination = nullptr;
  };

  ReadProgress() = default;
  explicit ReadProgress(const ReadRequest& request) : request_(request) {}

  Range Next() const;
  // `result`: bytes read, or a negative errno value. Must be the result of reading Next().
  Action Advance(int64_t result);

  const ReadRequest& request() const { return request_; }
  uint32_t bytes() const { return arrived_; }
  uint32_t retries() const { return retries_; }
  uint64_t retried_bytes() const { return retried_bytes_; }
  uint32_t delay_us() const;
  bool failed() const { return failure_ != Failure::kNone; }
  // The result for the sink. `path` is for the message and is used only where the read failed.
  ReadResult Finish(std::string_view path) const;
  // The result of a read that is given up; `status` says why.
  ReadResult Abandon(Status status) const;

 private:
  enum class Failure : uint8_t { kNone, kEndOfFile, kError, kTooLong };

  Action Arrived(uint32_t bytes);
  Action Errored(int error);
  Action Again();
  Action Fail(Failure failure);
  uint32_t start() const;  // of Next(), relative to the request

  ReadRequest request_;
  uint32_t arrived_ = 0;
  uint32_t retries_ = 0;
  uint64_t retried_bytes_ = 0;
  uint32_t transient_ = 0;  // in a row
  uint32_t stalls_ = 0;     // in a row
  bool io_error_seen_ = false;
  Failure failure_ = Failure::kNone;
  int error_ = 0;
};

}  // namespace berth::io

#endif  // BERTH_IO_STORAGE_READ_PROGRESS_H_
