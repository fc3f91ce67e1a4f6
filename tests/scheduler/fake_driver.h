// FakeDriver: a seeded driver of the core on virtual time that knows the truth.
//
// It keeps what bytes are in every slot of every tier and what every pointer table says, answers
// the core's actions in an order of its own, injects failures, and checks with each event what the
// core promises. The first broken promise is kept in error().
#ifndef BERTH_TESTS_SCHEDULER_FAKE_DRIVER_H_
#define BERTH_TESTS_SCHEDULER_FAKE_DRIVER_H_

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core.h"

namespace berth::scheduler {

struct DriverOptions {
  enum class Order : uint8_t { kInOrder, kReversed, kRandom };
  uint64_t seed = 1;
  Order order = Order::kRandom;
  // Chances, per answer.
  double read_failure = 0;
  double copy_failure = 0;
  double publish_failure = 0;  // applied all the same in every other case
  double wave_failure = 0;
  std::set<UnitIndex> broken_units;  // every read of theirs fails, while they stand here
};

class FakeDriver final : public Sink {
 public:
  explicit FakeDriver(const DriverOptions& options) : options_(options), rng_(options.seed) {}
  // Makes the core. `options` are what the checks go by.
  Status Open(const CoreOptions& options);
  Core& core() { return *core_; }

  // ---- submissions, checked
  Result<TicketId> Step(uint32_t layer, const std::vector<int32_t>& ids, uint64_t pass = 0);
  Status Hint(uint32_t layer, const std::vector<int32_t>& experts, uint64_t pass = 0);
  Result<LeaseId> Lease(const std::vector<UnitIndex>& units);
  Status Release(LeaseId lease);
  void Close();

  // ---- answers
  // Answers the action whose time has come; false if the core waits for none.
  bool Answer();
  void AnswerAll() {
    while (Answer()) {
    }
  }
  size_t pending() const { return pending_.size(); }
  // Answers the oldest pending action of this kind, and of this unit where one is given.
  enum class What : uint8_t { kRead, kCopy, kPublish, kCompute };
  bool AnswerOne(What what, UnitIndex unit = kNoUnit, const Status& status = Status());
  std::set<UnitIndex>& broken_units() { return options_.broken_units; }

  // Everything is quiet: what must hold then. `exact`: nothing failed, the counters are what moved.
  void CheckQuiet(bool exact);
  // Of this many calls of `core` inputs and more, none may find a broken promise.
  const std::string& error() const { return error_; }

  // ---- the record
  struct WaveRecord {
    TicketId ticket;
    uint32_t card, wave;
    std::vector<WaveUnit> units;
    std::vector<std::vector<uint32_t>> pairs;  // per unit
  };
  std::vector<WaveRecord> waves;  // in order of emission
  std::vector<ReadAction> reads;  // likewise
  std::vector<CopyAction> copies;
  std::vector<PublishAction> publishes;
  std::map<TicketId, Status> done;
  std::map<LeaseId, Status> leases_ready;
  uint64_t injected = 0;  // failures

 private:
  struct Bytes {  // of one slot
    std::array<uint32_t, 8> extents;
    uint32_t readers = 0;
    OpId writer = 0;      // 0: nobody writes
    uint32_t writes = 0;  // pieces under way
    uint32_t written = 0;
    bool failed = false;
    Bytes() { extents.fill(UINT32_MAX); }
  };
  struct Pending {
    What what;
    uint64_t due;
    OpId op;
    ReadAction read;
    CopyAction copy;
    PublishAction publish;
    ComputeAction compute;
  };
  struct StepRecord {
    uint32_t layer = 0;
    std::vector<int32_t> ids;
    std::vector<uint32_t> seen;  // waves that had the pair
    uint32_t waves_running = 0;
    TicketId ticket = 0;
    bool done = false;
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
  void AnswerAt(size_t at, const Status& status);
  Status Inject(What what, UnitIndex unit);
  void EndRead(const ReadAction& action, bool ok);
  void EndCopy(const CopyAction& action, bool ok);
  void EndPublish(const PublishAction& action, bool applied);
  void EndCompute(const ComputeAction& action);
  void AfterEvent();
  void CheckWaveUnits(const ComputeAction& action, const char* when);
  void CheckWavePairs(const ComputeAction& action);

  Bytes& At(const HostSlot& slot);
  Bytes& At(const CardSlot& slot);
  bool Holds(const Bytes& bytes, UnitIndex unit) const;
  void Expect(bool condition, const std::string& what) {
    if (!condition && error_.empty()) error_ = what + " (event " + std::to_string(events_) + ")";
  }
  struct Flight {
    uint64_t all = 0, prefetch = 0;
    uint32_t pieces = 0, prefetch_pieces = 0;
  };
  void Depart(Flight* flight, uint64_t bytes, bool prefetch, uint64_t limit,
              uint64_t prefetch_limit, const std::string& what);
  static void Arrive(Flight* flight, uint64_t bytes, bool prefetch);

  DriverOptions options_;
  CoreOptions core_options_;
  std::mt19937_64 rng_;
  std::unique_ptr<Core> core_;
  uint64_t now_ = 0;
  uint64_t events_ = 0;
  uint64_t sequence_ = 0;
  bool closed_ = false;
  std::string error_;
  std::vector<Pending> pending_;
  std::map<std::array<uint32_t, 3>, Bytes> host_;  // staging, class, slot
  std::map<std::array<uint32_t, 4>, Bytes> card_;  // card, ring, class, slot
  struct Entry {
    CardSlot slot;           // kNoSlot: nothing
    bool uncertain = false;  // an update of it failed
    bool moving = false;     // an update of it is under way
  };
  std::vector<Entry> table_;  // per unit (a unit has one card)
  std::vector<Flight> drives_;
  std::vector<Flight> links_;
  std::vector<StepRecord> steps_;  // the cookie is the index
  std::map<LeaseId, HeldLease> leases_;
};

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_FAKE_DRIVER_H_
