// Faults: what goes wrong under the driver, drawn from its seed.
//
// Some faults are cured below the core, which never hears of them (a read that comes in pieces, a
// copy that is late); the others reach it as an answer with an error, or as bytes that are wrong.
#ifndef BERTH_TESTS_SCHEDULER_FAULTS_H_
#define BERTH_TESTS_SCHEDULER_FAULTS_H_

#include <array>
#include <cstdint>
#include <set>
#include <string_view>

#include "berth/types.h"
#include "tests/scheduler/random.h"

namespace berth::scheduler {

enum class Fault : uint8_t {
  // Cured.
  kShortRead,    // the system gives a part, and another
  kStall,        // ... of less than a page, up to three times in a row
  kStorm,        // EAGAIN, EINTR, EBUSY, ENOMEM, up to 64 times in a row
  kIoErrorOnce,  // EIO, and not again
  kEndShort,     // the file ends behind what is needed and before what was asked for
  kLate,         // any answer, many times later than others
  // Not cured.
  kIoError,       // EIO at every try
  kStormForever,  // EAGAIN at every try
  kCutFile,       // the file ends before what is needed
  kStallForever,  // less than a page at every try
  kTooLong,       // the system claims more bytes than were asked for
  kBitFlip,       // the bytes arrive, one bit of them is wrong
  kCopyFailed,
  kCopyLost,      // no answer; in the end the owner resets the card's link
  kUpdateFailed,  // of a table; applied or not
  kUpdateLost,    // no answer until a time-out; applied or not
  kWaveFailed,
  kWaveLost,
  kRefused,  // out of memory: a stream does not take the action
};
inline constexpr size_t kFaultKinds = static_cast<size_t>(Fault::kRefused) + 1;
std::string_view FaultName(Fault fault);
inline bool IsCured(Fault fault) { return fault < Fault::kIoError; }

struct FaultPlan {
  std::array<double, kFaultKinds> rates = {};  // chance per read of an extent, copy, update, wave
  std::set<UnitIndex> broken_units;            // every read of theirs fails, while they stand here
  // A pack, or a sidecar beside the model: what arrives is proved before it is copied.
  bool checksums = true;

  double& rate(Fault fault) { return rates[static_cast<size_t>(fault)]; }
};

// Some kinds at some rates; `hard`: of those that are not cured as well.
FaultPlan RandomFaults(uint64_t seed, uint32_t units, bool hard);

class Faults {
 public:
  explicit Faults(const FaultPlan& plan) : plan_(plan) {}

  // Whether this fault comes now; counted where it does.
  bool Draw(Fault fault, Random* random) {
    const double rate = plan_.rates[static_cast<size_t>(fault)];
    if (rate == 0 || stopped_ || !random->Chance(rate)) return false;
    Count(fault);
    return true;
  }
  void Count(Fault fault) { ++counts_[static_cast<size_t>(fault)]; }
  bool broken(UnitIndex unit) const { return plan_.broken_units.count(unit) > 0; }
  // Nothing new goes wrong from here on, and broken units are whole again.
  void Stop() {
    stopped_ = true;
    plan_.broken_units.clear();
  }
  FaultPlan& plan() { return plan_; }
  const std::array<uint64_t, kFaultKinds>& counts() const { return counts_; }

 private:
  FaultPlan plan_;
  bool stopped_ = false;
  std::array<uint64_t, kFaultKinds> counts_ = {};
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_FAULTS_H_
