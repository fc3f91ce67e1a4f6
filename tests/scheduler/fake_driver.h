// FakeDriver: a seeded driver of the core on virtual time that knows the truth.
//
// It takes the core's actions, carries them out in an order and with faults of its own, and checks
// with each event what the core promises. The first broken promise is kept in error(). Nothing in
// it depends on anything but its options and the calls: a seed replays exactly.
//
//   sink -> pending (due at a time) -> [reads: results of the system, one by one] -> answer -> core
//           refused (out of memory) -> answered as soon as the core has returned
#ifndef BERTH_TESTS_SCHEDULER_FAKE_DRIVER_H_
#define BERTH_TESTS_SCHEDULER_FAKE_DRIVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "scheduler/core.h"
#include "tests/scheduler/faults.h"
#include "tests/scheduler/promises.h"
#include "tests/scheduler/random.h"
#include "tests/scheduler/simulated_read.h"
#include "tests/scheduler/step_book.h"
#include "tests/scheduler/truth.h"

namespace berth::scheduler {

struct DriverOptions {
  enum class Order : uint8_t { kInOrder, kReversed, kRandom };
  uint64_t seed = 1;
  Order order = Order::kRandom;
  FaultPlan faults;
};

class FakeDriver final : public Sink {
 public:
  explicit FakeDriver(const DriverOptions& options)
      : options_(options), random_(options.seed), faults_(options.faults) {}
  // Makes the core. `options` are what the checks go by.
  Status Open(const CoreOptions& options);
  Core& core() { return *core_; }
  const CoreOptions& options() const { return core_options_; }
  // What the policies are told of the future, [units]: never again, but for what callers put there.
  std::span<uint64_t> next_use() { return next_use_; }

  // ---- submissions, checked
  Result<TicketId> Step(uint32_t layer, const std::vector<int32_t>& ids, uint64_t pass = 0);
  Status Hint(uint32_t layer, const std::vector<int32_t>& experts, uint64_t pass = 0);
  Result<LeaseId> Lease(const std::vector<UnitIndex>& units);
  Status Release(LeaseId lease);
  void Close();
  bool closed() const { return closed_; }

  // ---- answers
  // The next thing happens: an answer, or one result of a read; false if the core waits for none.
  bool Answer();
  void AnswerAll() {
    while (Answer()) {
    }
  }
  // Answers the oldest pending action of this kind, and of this unit where one is given.
  enum class What : uint8_t { kRead, kCopy, kPublish, kCompute };
  bool AnswerOne(What what, UnitIndex unit = kNoUnit, const Status& status = Status());

  // ---- faults
  // Nothing new goes wrong; once what went wrong before has been answered, every step must work.
  void Heal();
  std::set<UnitIndex>& broken_units() { return faults_.plan().broken_units; }
  const Faults& faults() const { return faults_; }
  uint64_t injected() const { return injected_; }  // errors that were answered
  uint64_t flips_found() const { return flips_found_; }
  uint64_t failed_steps() const { return steps_->failed(); }
  uint64_t carrying_steps() const { return steps_->carrying(); }

  // Everything is quiet: what must hold then. `exact`: nothing failed, the counters are what moved.
  void CheckQuiet(bool exact);
  const std::string& error() const { return promises_.error(); }
  const Promises& promises() const { return promises_; }
  uint32_t leases_held() const;  // not released, nor void

  // ---- the record
  struct WaveRecord {
    TicketId ticket;
    uint32_t card;
    bool on_host;
    uint32_t wave;
    std::vector<WaveUnit> units;
    std::vector<std::vector<uint32_t>> pairs;  // per unit
  };
  std::vector<WaveRecord> waves;  // in order of emission
  std::vector<ReadAction> reads;  // likewise
  std::vector<CopyAction> copies;
  std::vector<PublishAction> publishes;
  std::map<TicketId, Status> done;
  std::map<LeaseId, Status> leases_ready;

 private:
  struct Pending {
    What what = What::kRead;
    uint64_t due = 0;
    uint64_t sequence = 0;
    OpId op = 0;
    ReadAction read;
    CopyAction copy;
    PublishAction publish;
    ComputeAction compute;
    SimulatedRead reading;
    std::optional<Fault> fault;  // what the answer will tell
    bool applied = false;        // an update: the table has it
  };
  struct HeldLease {
    std::vector<UnitIndex> units;
    bool ready = false;
    bool released = false;
  };

  void Read(const ReadAction& action) override;
  void Copy(const CopyAction& action) override;
  void Publish(const PublishAction& action) override;
  void Compute(const ComputeAction& action) override;
  void TicketDone(TicketId ticket, uint64_t cookie, const Status& status) override;
  void LeaseReady(LeaseId lease, uint64_t cookie, const Status& status) override;

  void Add(Pending pending);
  uint64_t Due(const Pending& pending);
  std::optional<Fault> DrawOneOf(std::initializer_list<Fault> faults);
  static UnitIndex UnitOf(const Pending& pending);
  Pending Take(size_t at);
  // Whether the read is over; else it waits for the system's next result.
  bool ReadOn(Pending* pending);
  void AnswerAsDrawn(Pending pending);
  void ResetLink(uint32_t card, uint64_t last);
  void AnswerWith(Pending pending, const Status& outcome);
  // Carries the outcome into the truth; the status that the core is told.
  Status End(Pending* pending, const Status& outcome);
  Status EndRead(const Pending& pending, const Status& outcome);
  Status ErrorOf(const Pending& pending) const;
  Promises::Event EventOf(const Pending& pending, bool ends) const;
  void Log(const char* what, const char* of = "", uint32_t number = 0,
           StatusCode code = StatusCode::kOk);

  void AfterInput();
  void CheckAfterEvent();
  void CheckQueues();
  void CheckCounters();

  DriverOptions options_;
  Promises promises_;
  Random random_;
  Faults faults_;
  CoreOptions core_options_;
  std::vector<uint64_t> next_use_;
  std::unique_ptr<Truth> truth_;
  std::unique_ptr<StepBook> steps_;
  std::unique_ptr<Core> core_;
  uint64_t now_ = 0;
  uint64_t sequence_ = 0;
  uint64_t injected_ = 0;
  uint64_t flips_found_ = 0;
  bool closed_ = false;
  std::vector<Pending> pending_;
  std::vector<Pending> refused_;
  std::map<LeaseId, HeldLease> leases_;
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_FAKE_DRIVER_H_
