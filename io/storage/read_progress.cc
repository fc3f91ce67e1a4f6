#include "io/storage/read_progress.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/guards.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

constexpr uint32_t kLengthMax = 1u << 30;
constexpr uint32_t kDelayFirstUs = 50;
constexpr uint32_t kDelayMaxUs = 10'000;

bool IsTransient(int error) {
  return error == EAGAIN || error == EINTR || error == EBUSY || error == ENOMEM;
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string Where(std::string_view path, uint64_t offset) {
  return absl::StrCat("reading ", View(path), " at offset ", offset);
}

}  // namespace

Status ValidateRead(const ReadRequest& request, size_t files) {
  if (request.file >= files) {
    return InvalidArgumentError(
        absl::StrCat("read of file ", request.file, ", but only ", files, " files are open"));
  }
  const auto address = reinterpret_cast<uintptr_t>(request.destination);
  if (request.destination == nullptr || address % kIoAlign != 0) {
    return InvalidArgumentError(absl::StrCat("read of file ", request.file, " at offset ",
                                             request.offset,
                                             ": the destination must be a multiple of 4096"));
  }
  if (request.offset % kIoAlign != 0 || request.length % kIoAlign != 0 || request.length == 0 ||
      request.length > kLengthMax) {
    return InvalidArgumentError(absl::StrCat(
        "read of file ", request.file, " at offset ", request.offset, ", length ", request.length,
        ": offset and length must be multiples of 4096 and length 4096 to 1 GiB"));
  }
  if (request.offset > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) - kLengthMax) {
    return InvalidArgumentError(absl::StrCat("read of file ", request.file, " at offset ",
                                             request.offset, ": beyond any file"));
  }
  if (request.need > request.length) {
    return InvalidArgumentError(absl::StrCat("read of file ", request.file, " at offset ",
                                             request.offset, ": need ", request.need,
                                             " is more than the length ", request.length));
  }
  return Status();
}

uint32_t ReadProgress::start() const {
  return static_cast<uint32_t>(AlignDown(arrived_, kIoAlign));
}

ReadProgress::Range ReadProgress::Next() const {
  return {request_.offset + start(), request_.length - start(), request_.destination + start()};
}

ReadProgress::Action ReadProgress::Advance(int64_t result) {
  if (result < 0) return Errored(static_cast<int>(-result));
  if (result > request_.length - start()) return Fail(Failure::kTooLong);
  return Arrived(static_cast<uint32_t>(result));
}

ReadProgress::Action ReadProgress::Arrived(uint32_t bytes) {
  transient_ = 0;
  const uint32_t before = start();
  arrived_ = std::max(arrived_, before + bytes);
  if (arrived_ >= request_.need || BERTH_BROKEN(kRetry)) return Action::kDone;
  if (bytes == 0) return Fail(Failure::kEndOfFile);
  // The same page comes again when a direct read stopped inside it. At the end of a file it would
  // do so for ever, so progress is demanded.
  if (start() == before) {
    if (++stalls_ >= kStallsMax) return Fail(Failure::kEndOfFile);
  } else {
    stalls_ = 0;
  }
  return Again();
}

ReadProgress::Action ReadProgress::Errored(int error) {
  error_ = error;
  if (IsTransient(error)) {
    if (++transient_ > kTransientMax) return Fail(Failure::kError);
    Again();
    return error == EINTR ? Action::kAgain : Action::kAgainAfterDelay;
  }
  if (error == EIO && !io_error_seen_) {
    io_error_seen_ = true;
    return Again();
  }
  return Fail(Failure::kError);
}

ReadProgress::Action ReadProgress::Again() {
  ++retries_;
  retried_bytes_ += request_.length - start();
  return Action::kAgain;
}

ReadProgress::Action ReadProgress::Fail(Failure failure) {
  failure_ = failure;
  return Action::kDone;
}

uint32_t ReadProgress::delay_us() const {
  const uint32_t doublings = std::min(transient_ == 0 ? 0 : transient_ - 1, 16u);
  return std::min(kDelayFirstUs << doublings, kDelayMaxUs);
}

ReadResult ReadProgress::Finish(std::string_view path) const {
  switch (failure_) {
    case Failure::kNone:
      return Abandon(Status());
    case Failure::kEndOfFile:
      return Abandon(DataLossError(
          absl::StrCat(Where(path, request_.offset), ": the file ends after ", arrived_, " of ",
                       request_.need, " bytes; it was cut short since it was opened or written")));
    case Failure::kTooLong:
      return Abandon(InternalError(
          absl::StrCat(Where(path, request_.offset), ": more bytes came than were asked for")));
    case Failure::kError:
      break;
  }
  const Status status = ErrnoError(error_, Where(path, request_.offset));
  return Abandon(UnavailableError(
      absl::StrCat(View(status.message()), IsTransient(error_) ? " (gave up after " : " (after ",
                   retries_, IsTransient(error_) ? " tries)" : " retries)")));
}

ReadResult ReadProgress::Abandon(Status status) const {
  return {request_.token, arrived_, retries_, retried_bytes_, std::move(status)};
}

}  // namespace berth::io
