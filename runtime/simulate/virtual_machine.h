// VirtualMachine: the driver of the core on a virtual clock. Drives, links, tables, cards and the
// host's dispatching thread are servers that work one job after the other; what a job costs says
// the cost model. The same core, the same order of submissions: the same decisions as a machine.
//
// Like a session of a runtime that has one step in flight: Step enqueues, Hint may follow, EndStep
// returns when the step is done. Hinted units go on moving meanwhile.
//
// Events are ordered by time, then by when they were foreseen, so a run is the same every time.
// Once warm nothing is allocated.
#ifndef BERTH_RUNTIME_SIMULATE_VIRTUAL_MACHINE_H_
#define BERTH_RUNTIME_SIMULATE_VIRTUAL_MACHINE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "berth/stats.h"
#include "berth/status.h"
#include "runtime/simulate/cost_model.h"
#include "runtime/simulate/ring_queue.h"
#include "runtime/simulate/virtual_clock.h"
#include "scheduler/core.h"

namespace berth {

class VirtualMachine final : private scheduler::Sink {
 public:
  static Result<std::unique_ptr<VirtualMachine>> Create(const MachineCosts& costs,
                                                        scheduler::CoreOptions options);

  // Before the first step: fills the arenas with the hottest units, as Open of a runtime does.
  Status Preload();
  // What was measured so far is none of what follows.
  void RestartClock() { clock_.Restart(); }
  Status Step(uint32_t layer, uint32_t rows, std::span<const int32_t> ids, uint64_t pass);
  Status Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass);
  // How the step went; Internal where nothing is left that could end it.
  Status EndStep();
  // The caller's own time goes by.
  void Rest(Nanos nanos);
  // Until nothing moves any more: wrong guesses may still be on their way.
  Status Drain();

  Nanos now() const { return clock_.now(); }
  const VirtualClock& clock() const { return clock_; }
  const scheduler::Core& core() const { return *core_; }
  const MovedBytes& moved() const { return moved_; }
  uint64_t events() const { return sequence_; }

 private:
  enum class ServerKind : uint8_t {
    kDrive,
    kToCard,
    kToHost,
    kTable,
    kDispatch,
    kCard,
    kHostCompute,
    kReduce
  };
  struct Job {
    scheduler::OpId op = 0;
    Nanos ready = 0;  // not to begin before
    uint32_t card = 0;
    uint32_t extent = 0;
    uint32_t bytes = 0;   // of a read, a copy, or one unit of a wave
    uint32_t count = 0;   // pieces of a copy, units of a wave
    uint32_t pairs = 0;   // of a wave
    bool staged = false;  // a wave of misses
    // Of a wave of units in RAM, together: what the host takes, or their way over the link.
    Nanos host = 0;
  };
  struct Server {
    ServerKind kind = ServerKind::kDrive;
    uint32_t card = 0;
    bool busy = false;
    bool stirred = false;    // on the list of those that may start a job
    uint32_t in_flight = 0;  // jobs waiting, served, and on their way home
    Nanos latency = 0;
    Nanos issued = 0;  // when the thread that enqueues copies is free again
    Job running;
    RingQueue<Job> waiting;
    RingQueue<Job> landing;  // served, not yet known to be
  };
  struct Event {
    Nanos time = 0;
    uint64_t sequence = 0;
    uint32_t server = 0;
    bool landed = false;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };

  VirtualMachine(const MachineCosts& costs, const scheduler::CoreOptions& options);
  uint32_t AddServer(ServerKind kind, uint32_t card, Nanos latency);

  void Read(const scheduler::ReadAction& action) override;
  void Copy(const scheduler::CopyAction& action) override;
  void Publish(const scheduler::PublishAction& action) override;
  void Compute(const scheduler::ComputeAction& action) override;
  void TicketDone(scheduler::TicketId ticket, uint64_t cookie, const Status& status) override;
  void LeaseReady(scheduler::LeaseId lease, uint64_t cookie, const Status& status) override;

  void Enqueue(uint32_t server, const Job& job);
  void StartStirred();
  Nanos Cost(const Server& server, const Job& job);
  void Expect(Nanos time, uint32_t server, bool landed);
  // Plays the next event; false where there is none, or none up to `limit`.
  bool PlayNext(Nanos limit);
  void Finish(const Server& server, const Job& job);
  void RunUntil(Nanos time);

  MachineCosts costs_;
  const scheduler::Geometry geometry_;
  VirtualClock clock_;
  MovedBytes moved_;
  std::vector<Server> servers_;
  uint32_t first_card_ = 0;  // per card: to card, to host, table, compute
  uint32_t dispatch_ = 0;
  uint32_t host_compute_ = 0;
  uint32_t reduce_ = 0;
  std::vector<uint32_t> stirred_;
  std::vector<Event> events_;  // a heap, the next on top
  uint64_t sequence_ = 0;
  bool step_done_ = true;
  Status step_status_;
  std::unique_ptr<scheduler::Core> core_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_SIMULATE_VIRTUAL_MACHINE_H_
