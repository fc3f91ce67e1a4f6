// VirtualClock: the time of a simulated machine, and what was under way while it passed. The same
// split as a real run's ActivityClock makes.
#ifndef BERTH_RUNTIME_SIMULATE_VIRTUAL_CLOCK_H_
#define BERTH_RUNTIME_SIMULATE_VIRTUAL_CLOCK_H_

#include <array>
#include <cstdint>

#include "berth/stats.h"
#include "runtime/simulate/cost_model.h"

namespace berth {

class VirtualClock {
 public:
  // At every moment the first that is under way counts. kModel: the rest of the model computes;
  // what moves meanwhile costs nothing, so it comes before the transfers.
  // kHost: the host's thread sends work out.
  enum Kind : uint8_t { kCompute, kModel, kHostCompute, kCopy, kRead, kHost, kStep, kIdle };

  Nanos now() const { return now_; }
  void Begin(Kind kind) { ++under_way_[kind]; }
  void End(Kind kind) { --under_way_[kind]; }
  void AdvanceTo(Nanos time) {
    uint32_t kind = kCompute;
    while (kind != kIdle && under_way_[kind] == 0) ++kind;
    spent_[kind] += time - now_;
    now_ = time;
  }

  // What was spent is forgotten; the time goes on.
  void Restart() {
    start_ = now_;
    spent_ = {};
  }
  Nanos elapsed() const { return now_ - start_; }
  Nanos spent(Kind kind) const { return spent_[kind]; }
  TimeSplit Split() const {
    const auto s = [this](Kind kind) { return static_cast<double>(spent_[kind]) * 1e-9; };
    return {s(kCompute), s(kHostCompute),     s(kCopy),
            s(kRead),    s(kHost) + s(kStep), s(kModel) + s(kIdle)};
  }

 private:
  Nanos now_ = 0;
  Nanos start_ = 0;
  std::array<uint32_t, kIdle + 1> under_way_ = {};
  std::array<Nanos, kIdle + 1> spent_ = {};
};

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_VIRTUAL_CLOCK_H_
