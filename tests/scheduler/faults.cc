#include "tests/scheduler/faults.h"

namespace berth::scheduler {
namespace {

constexpr std::array<std::string_view, kFaultKinds> kNames = {
    "short-read",  "stall",       "storm",         "io-error-once", "end-short",
    "late",        "io-error",    "storm-forever", "cut-file",      "stall-forever",
    "too-long",    "bit-flip",    "copy-failed",   "copy-lost",     "update-failed",
    "update-lost", "wave-failed", "wave-lost",     "refused"};

}  // namespace

std::string_view FaultName(Fault fault) { return kNames[static_cast<size_t>(fault)]; }

FaultPlan RandomFaults(uint64_t seed, uint32_t units, bool hard) {
  Random random(seed ^ 0xfa17);
  FaultPlan plan;
  plan.checksums = random.OneIn(2);
  for (size_t f = 0; f < kFaultKinds; ++f) {
    const Fault fault = static_cast<Fault>(f);
    if (!hard && !IsCured(fault)) continue;
    // Cured ones can be frequent; of the others a few at a time, so that most steps still work.
    if (random.OneIn(IsCured(fault) ? 2 : 4)) {
      plan.rate(fault) =
          IsCured(fault) ? 0.02 * (1 + random.Below(10)) : 0.005 * (1 + random.Below(8));
    }
  }
  if (hard && random.OneIn(3)) {
    for (uint32_t n = random.In(1, 3); n > 0; --n) plan.broken_units.insert(random.Below(units));
  }
  return plan;
}

}  // namespace berth::scheduler
