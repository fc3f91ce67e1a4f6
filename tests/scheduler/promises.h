// Promises: the first broken one of a driver's checks, and the log of what led to it.
#ifndef BERTH_TESTS_SCHEDULER_PROMISES_H_
#define BERTH_TESTS_SCHEDULER_PROMISES_H_

#include <array>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>

#include "berth/status.h"
#include "berth/types.h"

namespace berth::scheduler {

class Promises {
 public:
  // Keeps the first message; its parts are put together only where the promise is broken, so that
  // checks cost nothing else.
  template <typename... Parts>
  void Expect(bool kept, const Parts&... parts) {
    if (kept || !error_.empty()) return;
    std::ostringstream out;
    (out << ... << parts);
    out << " (event " << events_ << ")";
    error_ = out.str();
  }
  const std::string& error() const { return error_; }

  // One line of the log: something was handed out, answered or submitted.
  struct Event {
    uint64_t time = 0;
    const char* what = "";
    uint64_t op = 0;
    UnitIndex unit = kNoUnit;
    const char* where = "";  // kind of place, e.g. "arena of card"
    uint32_t number = 0;     // of the card, the size class, the layer
    SlotIndex slot = kNoSlot;
    StatusCode code = StatusCode::kOk;
  };
  void Log(const Event& event) { log_[events_++ % kTail] = event; }
  // A caller that dies (a check inside the core) prints this as well.
  void PrintTail(std::FILE* out) const {
    for (uint64_t i = events_ < kTail ? 0 : events_ - kTail; i < events_; ++i) {
      const Event& e = log_[i % kTail];
      std::fprintf(out, "  %6llu t=%llu %s", static_cast<unsigned long long>(i),
                   static_cast<unsigned long long>(e.time), e.what);
      if (e.op != 0) {
        std::fprintf(out, " op %llu.%llu", static_cast<unsigned long long>(e.op & 0xffffffff),
                     static_cast<unsigned long long>(e.op >> 32));
      }
      if (e.unit != kNoUnit) std::fprintf(out, " unit %u", e.unit);
      if (*e.where != '\0') std::fprintf(out, " %s %u", e.where, e.number);
      if (e.slot != kNoSlot) std::fprintf(out, " slot %u", e.slot);
      std::fprintf(
          out, "%s\n",
          e.code == StatusCode::kOk ? "" : (" " + std::string(StatusCodeName(e.code))).c_str());
    }
  }

 private:
  static constexpr uint64_t kTail = 40;
  std::string error_;
  std::array<Event, kTail> log_;
  uint64_t events_ = 0;
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_PROMISES_H_
