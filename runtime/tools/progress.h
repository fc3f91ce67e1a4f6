// A progress bar on standard error, if that is a terminal; otherwise nothing.
#ifndef BERTH_RUNTIME_TOOLS_PROGRESS_H_
#define BERTH_RUNTIME_TOOLS_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/mutex.h"
#include "runtime/pack/parallel.h"

namespace berth::tools {

// Add may be called from any thread, as often as one likes: at most ten times a second a line is
// drawn. The destructor wipes the bar, so that it leaves no trace in front of what comes next.
class ProgressBar final : public models::Progress {
 public:
  // What is counted: bytes ("1.2 GB of 3 GB, 900 MB/s"), or things of a name ("120 of 400 rows").
  explicit ProgressBar(std::string counted = "");
  ~ProgressBar();

  void Begin(std::string_view what, uint64_t total) override;
  void Add(uint64_t done) override;
  // Removes the bar; another Begin may follow.
  void End();

  // What a bar shows after `seconds`; without the control characters of a terminal.
  static std::string Line(std::string_view what, std::string_view counted, uint64_t done,
                          uint64_t total, double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  const std::string counted_;
  const bool shown_;
  std::atomic<uint64_t> done_{0};
  std::atomic<int64_t> next_draw_ns_{0};  // since begin_
  Mutex mutex_;
  std::string what_ BERTH_GUARDED_BY(mutex_);
  uint64_t total_ BERTH_GUARDED_BY(mutex_) = 0;
  bool drawn_ BERTH_GUARDED_BY(mutex_) = false;
  Clock::time_point begin_;  // set by Begin, which no Add may overlap
};

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_PROGRESS_H_
