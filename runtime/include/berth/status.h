// Status and Result: how every part of Berth says that something did not work.
//
// A Status is one line for the person who has to act: what, where, what to do. Values that can
// fail come as Result<T>. Both are cheap to return when all is well (a null pointer) and may be
// copied and read from any thread; one object is not to be written by two.
#ifndef BERTH_STATUS_H_
#define BERTH_STATUS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument,     // the request is wrong whatever the state of the system
  kNotFound,            // a file, a tensor or a name that is not there
  kOutOfRange,          // an id or a size beyond what the model or the trace has
  kFailedPrecondition,  // right request, wrong moment (closed, already open, another model)
  kPermissionDenied,
  kResourceExhausted,  // memory, slots, queue places; the message says what number to change
  kUnimplemented,      // a format or a feature that this build does not serve
  kDataLoss,           // bytes that are not what they should be: a checksum, a truncated file
  kUnavailable,        // the system refused for now (I/O error, a device that is gone)
  kCancelled,          // closed before it was done
  kInternal,           // a fault of Berth itself
};

// The code's name as it stands in messages, e.g. "DATA_LOSS".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message);

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : ""; }
  // "OK", or "DATA_LOSS: <message>".
  std::string ToString() const;
  // The same code with "context: " put before the message. Ok stays ok.
  Status Annotate(std::string_view context) const;

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const Rep> rep_;
};

Status InvalidArgumentError(std::string message);
Status NotFoundError(std::string message);
Status OutOfRangeError(std::string message);
Status FailedPreconditionError(std::string message);
Status PermissionDeniedError(std::string message);
Status ResourceExhaustedError(std::string message);
Status UnimplementedError(std::string message);
Status DataLossError(std::string message);
Status UnavailableError(std::string message);
Status CancelledError(std::string message);
Status InternalError(std::string message);
// From an errno value: the code that fits it and "<what>: <strerror>".
Status ErrnoError(int error, std::string_view what);

// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    if (status_.ok()) Die("Result made from an ok Status without a value");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & { return Checked(); }
  const T& value() const& { return const_cast<Result*>(this)->Checked(); }
  T&& value() && { return std::move(Checked()); }
  T& operator*() & { return Checked(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(Checked()); }
  T* operator->() { return &Checked(); }
  const T* operator->() const { return &value(); }

 private:
  [[noreturn]] static void Die(std::string_view why) {
    std::fprintf(stderr, "berth: %.*s\n", static_cast<int>(why.size()), why.data());
    std::abort();
  }
  T& Checked() {
    if (!value_.has_value()) Die(status_.message());
    return *value_;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace berth

// if (Status s = expr; !s.ok()) return s;
#define BERTH_RETURN_IF_ERROR(expr)                                    \
  do {                                                                 \
    if (::berth::Status berth_status_ = (expr); !berth_status_.ok()) { \
      return berth_status_;                                            \
    }                                                                  \
  } while (false)

// BERTH_ASSIGN_OR_RETURN(auto x, MakeX());
#define BERTH_ASSIGN_OR_RETURN(lhs, expr) \
  BERTH_ASSIGN_OR_RETURN_IMPL_(BERTH_CONCAT_(berth_result_, __LINE__), lhs, expr)
#define BERTH_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr) \
  auto result = (expr);                                 \
  if (!result.ok()) return result.status();             \
  lhs = std::move(result).value()
#define BERTH_CONCAT_(a, b) BERTH_CONCAT_INNER_(a, b)
#define BERTH_CONCAT_INNER_(a, b) a##b

#endif  // BERTH_STATUS_H_
