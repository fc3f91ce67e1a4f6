// FakeDriver: submissions, what the core asks for, and the checks after every event.
#include "tests/scheduler/fake_driver.h"

#include <algorithm>
#include <utility>

#include "policies/policy.h"

namespace berth::scheduler {
namespace {

constexpr uint64_t kLeaseCookie = 7;
constexpr uint64_t kTimeOut = 5000;  // ticks until an owner gives up waiting

}  // namespace

Status FakeDriver::Open(const CoreOptions& options) {
  core_options_ = options;
  next_use_.assign(options.geometry.units(), policies::kNeverUsed);
  core_options_.next_use = next_use_;
  truth_ = std::make_unique<Truth>(core_options_, options_.faults.checksums, &promises_);
  steps_ = std::make_unique<StepBook>(core_options_.geometry, &promises_);
  BERTH_ASSIGN_OR_RETURN(core_, Core::Create(core_options_, this));
  return Status();
}

// ---- submissions

Result<TicketId> FakeDriver::Step(uint32_t layer, const std::vector<int32_t>& ids, uint64_t pass) {
  const Geometry& g = core_options_.geometry;
  std::map<UnitIndex, CardSlot> before;
  for (int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= g.experts || layer >= g.layers) continue;
    const UnitIndex unit = layer * g.experts + id;
    before[unit] = core_->Find(unit);
  }
  const uint64_t decisions = core_->counters().decisions;
  StepSpec spec;
  spec.layer = layer;
  spec.rows = static_cast<uint32_t>(ids.size() / g.top_k);
  spec.ids = ids;
  spec.pass = pass;
  spec.cookie = steps_->Add(layer, ids);
  Log("step", "of layer", layer);
  Result<TicketId> ticket = core_->SubmitStep(spec);
  if (ticket.ok()) {
    for (const auto& [unit, slot] : before) {
      promises_.Expect(slot.slot == kNoSlot || Same(slot, core_->Find(unit)), "unit ", unit,
                       " was evicted or moved by the step that routes to it");
    }
  } else {
    Log("step refused", "of layer", layer, ticket.status().code());
    steps_->Refused(spec.cookie);
    promises_.Expect(core_->counters().decisions == decisions,
                     "a step that was refused decided something");
  }
  AfterInput();
  return ticket;
}

Status FakeDriver::Hint(uint32_t layer, const std::vector<int32_t>& experts, uint64_t pass) {
  const uint64_t decisions = core_->counters().decisions;
  Log("hint", "for layer", layer);
  Status status = core_->SubmitHint(layer, experts, pass);
  promises_.Expect(status.ok() || core_->counters().decisions == decisions,
                   "a hint that was refused decided something");
  AfterInput();
  return status;
}

Result<LeaseId> FakeDriver::Lease(const std::vector<UnitIndex>& units) {
  Log("lease", "of units:", static_cast<uint32_t>(units.size()));
  Result<LeaseId> lease = core_->SubmitLease(units, kLeaseCookie);
  if (lease.ok()) {
    // A lease of resident units is ready while it is being submitted.
    HeldLease& held = leases_[*lease];
    held.units = units;
    held.ready = leases_ready.count(*lease) > 0 && leases_ready[*lease].ok();
  }
  AfterInput();
  return lease;
}

Status FakeDriver::Release(LeaseId lease) {
  Log("release", "of lease", static_cast<uint32_t>(lease));
  const auto ready = leases_ready.find(lease);
  const bool is_void = ready != leases_ready.end() && !ready->second.ok();
  Status status = core_->ReleaseLease(lease);
  const auto held = leases_.find(lease);
  if (held != leases_.end()) {
    promises_.Expect(status.ok() == (!is_void && !held->second.released),
                     "a release was answered wrongly");
    held->second.released = true;
  }
  AfterInput();
  return status;
}

void FakeDriver::Close() {
  Log("close");
  closed_ = true;
  steps_->Closed();
  core_->Close();
  AfterInput();
}

void FakeDriver::Heal() {
  faults_.Stop();
  AnswerAll();
  steps_->Healed();
  Log("healed");
}

uint32_t FakeDriver::leases_held() const {
  return static_cast<uint32_t>(std::count_if(leases_.begin(), leases_.end(), [&](const auto& l) {
    const auto ready = leases_ready.find(l.first);
    return !l.second.released && (ready == leases_ready.end() || ready->second.ok());
  }));
}

// ---- the sink

std::optional<Fault> FakeDriver::DrawOneOf(std::initializer_list<Fault> faults) {
  for (Fault fault : faults) {
    if (faults_.Draw(fault, &random_)) return fault;
  }
  return std::nullopt;
}

void FakeDriver::Read(const ReadAction& action) {
  truth_->BeginRead(action);
  reads.push_back(action);
  Pending pending;
  pending.what = What::kRead;
  pending.op = action.op;
  pending.read = action;
  const uint32_t bytes = core_options_.geometry.read_bytes(action.unit, action.extent);
  pending.reading = SimulatedRead((static_cast<uint64_t>(action.unit) * 8 + action.extent) << 20,
                                  bytes, faults_.broken(action.unit), &faults_, &random_);
  Add(std::move(pending));
}

void FakeDriver::Copy(const CopyAction& action) {
  truth_->BeginCopy(action);
  copies.push_back(action);
  Pending pending;
  pending.what = What::kCopy;
  pending.op = action.op;
  pending.copy = action;
  pending.fault = DrawOneOf({Fault::kRefused, Fault::kCopyLost, Fault::kCopyFailed});
  Add(std::move(pending));
}

void FakeDriver::Publish(const PublishAction& action) {
  truth_->BeginUpdate(action);
  publishes.push_back(action);
  Pending pending;
  pending.what = What::kPublish;
  pending.op = action.op;
  pending.publish = action;
  pending.fault = DrawOneOf({Fault::kRefused, Fault::kUpdateLost, Fault::kUpdateFailed});
  // The card may have the update long before anybody says so.
  if (pending.fault != Fault::kRefused && random_.OneIn(2)) {
    truth_->ApplyUpdate(action);
    pending.applied = true;
  }
  Add(std::move(pending));
}

void FakeDriver::Compute(const ComputeAction& action) {
  truth_->BeginWave(action);
  steps_->BeginWave(action);
  WaveRecord record{action.ticket, action.card, action.on_host, action.wave, {}, {}};
  for (const WaveUnit& unit : action.units) {
    record.units.push_back(unit);
    const auto pairs = action.pairs.subspan(unit.first_pair, unit.pair_count);
    record.pairs.emplace_back(pairs.begin(), pairs.end());
  }
  waves.push_back(std::move(record));
  Pending pending;
  pending.what = What::kCompute;
  pending.op = action.op;
  pending.compute = action;
  pending.fault = DrawOneOf({Fault::kRefused, Fault::kWaveLost, Fault::kWaveFailed});
  Add(std::move(pending));
}

void FakeDriver::TicketDone(TicketId ticket, uint64_t cookie, const Status& status) {
  Log("done", "step", static_cast<uint32_t>(cookie), status.code());
  promises_.Expect(done.emplace(ticket, status).second, "a ticket is done twice");
  steps_->Done(cookie, status);
}

void FakeDriver::LeaseReady(LeaseId lease, uint64_t cookie, const Status& status) {
  promises_.Expect(cookie == kLeaseCookie, "a lease's cookie changed");
  promises_.Expect(leases_ready.emplace(lease, status).second, "a lease is ready twice");
  const auto held = leases_.find(lease);
  if (held == leases_.end()) return;  // within its submission
  promises_.Expect(!held->second.released, "a lease is ready after its release");
  held->second.ready = status.ok();
}

void FakeDriver::Add(Pending pending) {
  for (const Pending& other : pending_) {
    promises_.Expect(
        other.op != pending.op || (pending.what == What::kRead && other.what == What::kRead &&
                                   other.read.extent != pending.read.extent),
        "one operation was handed out twice");
  }
  pending.sequence = ++sequence_;
  promises_.Log(EventOf(pending, /*ends=*/false));
  if (pending.fault == Fault::kRefused) {
    refused_.push_back(std::move(pending));
    return;
  }
  pending.due = Due(pending);
  pending_.push_back(std::move(pending));
}

uint64_t FakeDriver::Due(const Pending& pending) {
  const bool lost = pending.fault == Fault::kCopyLost || pending.fault == Fault::kUpdateLost ||
                    pending.fault == Fault::kWaveLost;
  switch (options_.order) {
    case DriverOptions::Order::kInOrder:
      return pending.sequence + (lost ? kTimeOut : 0);
    case DriverOptions::Order::kReversed:
      return UINT64_MAX - (lost ? 0 : pending.sequence);
    case DriverOptions::Order::kRandom:
      break;
  }
  if (lost) return now_ + kTimeOut;
  return now_ + 1 + random_.Below(16) +
         (faults_.Draw(Fault::kLate, &random_) ? 100 + random_.Below(2000) : 0);
}

// ---- checks

void FakeDriver::CheckAfterEvent() {
  if (Status s = core_->CheckInvariants(); !s.ok()) promises_.Expect(false, s.ToString());
  truth_->CheckTables();
  for (const auto& [id, lease] : leases_) {
    if (!lease.ready || lease.released) continue;
    for (UnitIndex unit : lease.units) truth_->CheckInPlace(unit, core_->Find(unit), "leased");
  }
  CheckQueues();
  if (pending_.empty() && refused_.empty()) {
    promises_.Expect(core_->idle(), "nothing is pending and the core is not idle");
  }
}

// An engine makes its queues as long as the core says.
void FakeDriver::CheckQueues() {
  const uint32_t live = Core::MaxLiveUnits(core_options_);
  uint32_t updates = 0, waves_under_way = 0;
  for (const Pending& p : pending_) {
    updates += p.what == What::kPublish ? 1 : 0;
    waves_under_way += p.what == What::kCompute ? 1 : 0;
  }
  promises_.Expect(updates <= 2 * live, updates, " table updates under way, of ", live, " units");
  promises_.Expect(waves_under_way <= live + 2 * core_options_.max_tickets, waves_under_way,
                   " waves under way, of ", live, " units");
}

void FakeDriver::CheckQuiet(bool exact) {
  promises_.Expect(core_->idle() && pending_.empty(), "not quiet");
  steps_->CheckAllDone();
  for (const auto& [id, lease] : leases_) {
    promises_.Expect(lease.released || leases_ready.count(id) > 0, "a lease is never ready");
  }
  if (!closed_) truth_->CheckTablesAre(*core_);
  promises_.Expect(core_->counters().failed_steps == steps_->failed(),
                   "failed steps differ from the counter");
  if (exact) CheckCounters();
}

// What was counted is what moved.
void FakeDriver::CheckCounters() {
  const Geometry& g = core_options_.geometry;
  const Counters& c = core_->counters();
  struct Moved {
    uint64_t up = 0, up_bytes = 0, down_bytes = 0, waves = 0, host_waves = 0, host_units = 0;
  };
  std::vector<Moved> moved(core_options_.cards.size());
  for (const CopyAction& copy : copies) {
    Moved& card = moved[copy.card.card];
    card.up += copy.to_card ? 1 : 0;
    (copy.to_card ? card.up_bytes : card.down_bytes) += g.payload_bytes(copy.unit);
  }
  for (const WaveRecord& wave : waves) {
    Moved& card = moved[wave.card];
    ++(wave.on_host ? card.host_waves : card.waves);
    if (wave.on_host) card.host_units += wave.units.size();
  }
  for (size_t i = 0; i < moved.size(); ++i) {
    const CardCounters& card = c.cards[i];
    promises_.Expect(moved[i].up == card.units_h2d &&
                         moved[i].up_bytes == card.bytes_h2d_demand + card.bytes_h2d_prefetch +
                                                  card.bytes_h2d_warm + card.bytes_h2d_behind,
                     "copies to card ", i, " differ from the counters");
    promises_.Expect(moved[i].down_bytes == card.bytes_d2h, "copies from card ", i,
                     " differ from the counters");
    promises_.Expect(moved[i].waves == card.waves && moved[i].host_waves == card.host_waves &&
                         moved[i].host_units == card.host_computed,
                     "waves of card ", i, " differ from the counters");
  }
  uint64_t read_bytes = 0, whole = 0;
  for (const ReadAction& read : reads) {
    read_bytes += g.read_bytes(read.unit, read.extent);
    whole += read.extent == 0 ? 1 : 0;
  }
  const StorageCounters& s = c.storage;
  promises_.Expect(whole == s.units_demand + s.units_prefetch + s.units_warm,
                   "reads differ from the counters");
  promises_.Expect(
      read_bytes == s.bytes_demand + s.bytes_prefetch + s.bytes_warm + s.bytes_alignment,
      "read bytes differ from the counters");
}

}  // namespace berth::scheduler
