#include "runtime/tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/base/format.h"

namespace berth::tools {
namespace {

constexpr int64_t kDrawEveryNs = 100'000'000;
constexpr size_t kBarWidth = 24;
// Return to the line's beginning and erase it.
constexpr char kWipe[] = "\r\x1b[K";

std::string Amount(uint64_t count, std::string_view counted) {
  return counted.empty() ? FormatBytes(count) : FormatCount(count);
}

std::string Duration(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

}  // namespace

ProgressBar::ProgressBar(std::string counted)
    : counted_(std::move(counted)), shown_(isatty(STDERR_FILENO) == 1), begin_(Clock::now()) {}

ProgressBar::~ProgressBar() { End(); }

void ProgressBar::Begin(std::string_view what, uint64_t total) {
  End();
  MutexLock lock(&mutex_);
  what_ = what;
  total_ = total;
  begin_ = Clock::now();
  done_.store(0, std::memory_order_relaxed);
  next_draw_ns_.store(kDrawEveryNs, std::memory_order_relaxed);
}

void ProgressBar::Add(uint64_t done) {
  const uint64_t total_done = done_.fetch_add(done, std::memory_order_relaxed) + done;
  if (!shown_) return;
  const int64_t now = std::chrono::nanoseconds(Clock::now() - begin_).count();
  int64_t due = next_draw_ns_.load(std::memory_order_relaxed);
  if (now < due || !next_draw_ns_.compare_exchange_strong(due, now + kDrawEveryNs)) return;
  MutexLock lock(&mutex_);
  const std::string line =
      Line(what_, counted_, total_done, total_, static_cast<double>(now) * 1e-9);
  std::fprintf(stderr, "%s%s", kWipe, line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressBar::End() {
  MutexLock lock(&mutex_);
  if (!drawn_) return;
  std::fputs(kWipe, stderr);
  std::fflush(stderr);
  drawn_ = false;
}

std::string ProgressBar::Line(std::string_view what, std::string_view counted, uint64_t done,
                              uint64_t total, double seconds) {
  const double share =
      total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<size_t>(share * kBarWidth);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string line(what);
  line += " [" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] " +
          std::to_string(static_cast<int>(share * 100)) + " %  " + Amount(done, counted) + " of " +
          Amount(total, counted);
  if (!counted.empty()) line += " " + std::string(counted);
  if (rate <= 0) return line;
  line += ", " + Amount(static_cast<uint64_t>(rate), counted) + "/s";
  if (done < total) line += ", " + Duration(static_cast<double>(total - done) / rate) + " left";
  return line;
}

}  // namespace berth::tools
