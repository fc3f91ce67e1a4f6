#include "runtime/simulate/virtual_machine.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/base/check.h"

namespace berth {
namespace {

constexpr uint32_t kServersPerCard = 4;
constexpr uint32_t kToCardServer = 0, kToHostServer = 1, kTableServer = 2, kCardServer = 3;

}  // namespace

Result<std::unique_ptr<VirtualMachine>> VirtualMachine::Create(const MachineCosts& costs,
                                                               scheduler::CoreOptions options) {
  std::unique_ptr<VirtualMachine> machine(new VirtualMachine(costs, options));
  BERTH_ASSIGN_OR_RETURN(machine->core_,
                         scheduler::Core::Create(std::move(options), machine.get()));
  return machine;
}

VirtualMachine::VirtualMachine(const MachineCosts& costs, const scheduler::CoreOptions& options)
    : costs_(costs), geometry_(options.geometry) {
  for (uint32_t d = 0; d < geometry_.drives; ++d) {
    AddServer(ServerKind::kDrive, 0, costs_.storage.latency());
  }
  first_card_ = geometry_.drives;
  for (uint32_t c = 0; c < options.cards.size(); ++c) {
    AddServer(ServerKind::kToCard, c, costs_.links[c].latency());
    AddServer(ServerKind::kToHost, c, costs_.links[c].latency());
    AddServer(ServerKind::kTable, c, 0);
    AddServer(ServerKind::kCard, c, 0);
  }
  dispatch_ = AddServer(ServerKind::kDispatch, 0, 0);
  host_compute_ = AddServer(ServerKind::kHostCompute, 0, 0);
  reduce_ = AddServer(ServerKind::kReduce, 0, 0);
  stirred_.reserve(servers_.size());
  events_.reserve(1024);
}

uint32_t VirtualMachine::AddServer(ServerKind kind, uint32_t card, Nanos latency) {
  Server server;
  server.kind = kind;
  server.card = card;
  server.latency = latency;
  servers_.push_back(std::move(server));
  return static_cast<uint32_t>(servers_.size()) - 1;
}

Status VirtualMachine::Preload() {
  const std::vector<UnitIndex> units = core_->WarmUnits();
  const size_t batch = core_->warm_batch();
  for (size_t at = 0; at < units.size(); at += batch) {
    BERTH_RETURN_IF_ERROR(
        core_->SubmitWarm(std::span(units).subspan(at, std::min(batch, units.size() - at))));
    StartStirred();
    BERTH_RETURN_IF_ERROR(Drain());
  }
  return Status();
}

Status VirtualMachine::Step(uint32_t layer, uint32_t rows, std::span<const int32_t> ids,
                            uint64_t pass) {
  // The routing comes to the host before anything can be decided.
  clock_.Begin(VirtualClock::kStep);
  RunUntil(now() + costs_.host.round_trip);
  step_done_ = false;
  step_status_ = Status();
  scheduler::StepSpec step;
  step.layer = layer;
  step.rows = rows;
  step.ids = ids;
  step.pass = pass;
  const Result<scheduler::TicketId> ticket = core_->SubmitStep(step);
  StartStirred();
  return ticket.status();
}

Status VirtualMachine::Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) {
  const Status status = core_->SubmitHint(layer, experts, pass);
  StartStirred();
  return status;
}

Status VirtualMachine::EndStep() {
  while (!step_done_) {
    if (!PlayNext(UINT64_MAX)) return InternalError("a step waits for what never comes");
  }
  clock_.End(VirtualClock::kStep);
  return step_status_;
}

void VirtualMachine::Rest(Nanos nanos) {
  clock_.Begin(VirtualClock::kModel);
  RunUntil(now() + nanos);
  clock_.End(VirtualClock::kModel);
}

void VirtualMachine::RunUntil(Nanos time) {
  while (PlayNext(time)) continue;
  clock_.AdvanceTo(time);
}

Status VirtualMachine::Drain() {
  while (PlayNext(UINT64_MAX)) continue;
  return core_->idle() ? Status() : InternalError("an operation waits for what never comes");
}

// ---- what the core asks for

void VirtualMachine::Read(const scheduler::ReadAction& action) {
  clock_.Begin(VirtualClock::kRead);
  Job job;
  job.op = action.op;
  job.extent = action.extent;
  job.bytes = geometry_.read_bytes(action.unit, action.extent);
  Enqueue(geometry_.drive_of(action.unit), job);
}

void VirtualMachine::Copy(const scheduler::CopyAction& action) {
  clock_.Begin(VirtualClock::kCopy);
  const uint32_t card = action.card.card;
  Job job;
  job.op = action.op;
  job.card = card;
  job.bytes = geometry_.payload_bytes(action.unit);
  job.count = geometry_.extents(action.unit);
  (action.to_card ? moved_.h2d : moved_.d2h) += job.bytes;
  const uint32_t index =
      first_card_ + kServersPerCard * card + (action.to_card ? kToCardServer : kToHostServer);
  // One thread a stream enqueues its copies, one after the other.
  Server& link = servers_[index];
  link.issued = std::max(link.issued, now()) + costs_.links[card].issue() * job.count;
  job.ready = link.issued;
  Enqueue(index, job);
}

void VirtualMachine::Publish(const scheduler::PublishAction& action) {
  Job job;
  job.op = action.op;
  job.card = action.slot.card;
  Enqueue(first_card_ + kServersPerCard * job.card + kTableServer, job);
}

void VirtualMachine::Compute(const scheduler::ComputeAction& action) {
  Job job;
  job.op = action.op;
  job.card = action.card;
  job.bytes = geometry_.layer_payload_bytes[action.layer];
  if (action.on_host && !costs_.in_place) {
    for (const scheduler::WaveUnit& unit : action.units) {
      job.host += costs_.host_compute.Unit(job.bytes, unit.pair_count);
    }
    clock_.Begin(VirtualClock::kHostCompute);
    Enqueue(host_compute_, job);
    return;
  }
  job.count = static_cast<uint32_t>(action.units.size());
  job.staged = action.wave > 0;
  for (const scheduler::WaveUnit& unit : action.units) {
    job.pairs += unit.pair_count;
    if (action.on_host) job.host += costs_.links[job.card].Copy(job.bytes, 1, true, false);
  }
  if (costs_.host.dispatch_hit == 0 && costs_.host.dispatch_staged == 0) {
    clock_.Begin(VirtualClock::kCompute);
    Enqueue(first_card_ + kServersPerCard * job.card + kCardServer, job);
  } else {
    clock_.Begin(VirtualClock::kHost);
    Enqueue(dispatch_, job);
  }
}

void VirtualMachine::TicketDone(scheduler::TicketId, uint64_t, const Status& status) {
  step_status_ = status;
  if (!status.ok() || costs_.cards[0].reduce() == 0) {
    step_done_ = true;
    return;
  }
  clock_.Begin(VirtualClock::kCompute);
  Enqueue(reduce_, Job());
}

void VirtualMachine::LeaseReady(scheduler::LeaseId, uint64_t, const Status&) {
  BERTH_CHECK_MSG(false, "nobody takes leases here");
}

// ---- servers and events

void VirtualMachine::Enqueue(uint32_t index, const Job& job) {
  Server& server = servers_[index];
  server.waiting.Push(job);
  ++server.in_flight;
  if (server.busy || server.stirred) return;
  server.stirred = true;
  stirred_.push_back(index);
}

// After the core has returned, so that what came in one call counts as in flight together.
void VirtualMachine::StartStirred() {
  for (const uint32_t index : stirred_) {
    Server& server = servers_[index];
    server.stirred = false;
    if (server.busy || server.waiting.empty()) continue;
    server.busy = true;
    server.running = server.waiting.Pop();
    const Nanos begin = std::max(now(), server.running.ready);
    Expect(begin + Cost(server, server.running), index, /*landed=*/false);
  }
  stirred_.clear();
}

Nanos VirtualMachine::Cost(const Server& server, const Job& job) {
  switch (server.kind) {
    case ServerKind::kDrive:
      return costs_.storage.Read(job.bytes, server.in_flight);
    case ServerKind::kToCard:
    case ServerKind::kToHost: {
      const bool to_card = server.kind == ServerKind::kToCard;
      const Server& other = servers_[first_card_ + kServersPerCard * job.card +
                                     (to_card ? kToHostServer : kToCardServer)];
      return costs_.links[job.card].Copy(job.bytes, job.count, to_card, other.busy);
    }
    case ServerKind::kTable:
      return costs_.cards[job.card].update();
    case ServerKind::kDispatch:
      return job.count * (job.staged ? costs_.host.dispatch_staged : costs_.host.dispatch_hit);
    case ServerKind::kCard:  // reading over the link overlaps with what is made of it
      return std::max(costs_.cards[job.card].Wave(job.count, job.bytes, job.pairs), job.host);
    case ServerKind::kHostCompute:
      return job.host;
    case ServerKind::kReduce:
      return costs_.cards[0].reduce();
  }
  return 0;
}

void VirtualMachine::Expect(Nanos time, uint32_t server, bool landed) {
  events_.push_back({time, sequence_++, server, landed});
  std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

bool VirtualMachine::PlayNext(Nanos limit) {
  if (events_.empty() || events_.front().time > limit) return false;
  std::pop_heap(events_.begin(), events_.end(), std::greater<>());
  const Event event = events_.back();
  events_.pop_back();
  clock_.AdvanceTo(event.time);
  Server& server = servers_[event.server];
  Job job;
  if (event.landed) {
    job = server.landing.Pop();
  } else {
    job = server.running;
    server.busy = false;
    if (!server.waiting.empty() && !server.stirred) {
      server.stirred = true;
      stirred_.push_back(event.server);
    }
    if (server.latency > 0) {
      server.landing.Push(job);
      Expect(event.time + server.latency, event.server, /*landed=*/true);
      StartStirred();
      return true;
    }
  }
  --server.in_flight;
  Finish(server, job);
  StartStirred();
  return true;
}

void VirtualMachine::Finish(const Server& server, const Job& job) {
  switch (server.kind) {
    case ServerKind::kDrive:
      clock_.End(VirtualClock::kRead);
      moved_.storage += job.bytes;
      core_->ReadDone(job.op, job.extent, Status());
      break;
    case ServerKind::kToCard:
    case ServerKind::kToHost:
      clock_.End(VirtualClock::kCopy);
      core_->CopyDone(job.op, Status());
      break;
    case ServerKind::kTable:
      core_->PublishDone(job.op, Status());
      break;
    case ServerKind::kDispatch:
      clock_.End(VirtualClock::kHost);
      clock_.Begin(VirtualClock::kCompute);
      Enqueue(first_card_ + kServersPerCard * job.card + kCardServer, job);
      break;
    case ServerKind::kCard:
      clock_.End(VirtualClock::kCompute);
      core_->ComputeDone(job.op, Status());
      break;
    case ServerKind::kHostCompute:
      clock_.End(VirtualClock::kHostCompute);
      core_->ComputeDone(job.op, Status());
      break;
    case ServerKind::kReduce:
      clock_.End(VirtualClock::kCompute);
      step_done_ = true;
      break;
  }
}

}  // namespace berth
