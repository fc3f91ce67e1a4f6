// BERTH_CHECK: an invariant whose breach must not compute on. It stays on in release builds.
// What can fail for reasons outside the code returns a Status instead.
#ifndef BERTH_RUNTIME_BASE_CHECK_H_
#define BERTH_RUNTIME_BASE_CHECK_H_

namespace berth::internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* why);
}  // namespace berth::internal

#define BERTH_CHECK(condition) BERTH_CHECK_MSG(condition, "")
#define BERTH_CHECK_MSG(condition, why)                                    \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::berth::internal::CheckFailed(__FILE__, __LINE__, #condition, why); \
    }                                                                      \
  } while (false)

#endif  // BERTH_RUNTIME_BASE_CHECK_H_
