#include "tests/scheduler/fake_driver.h"

#include <algorithm>
#include <utility>

namespace berth::scheduler {
namespace {

bool Same(const CardSlot& a, const CardSlot& b) {
  return a.card == b.card && a.ring == b.ring && a.size_class == b.size_class && a.slot == b.slot;
}

std::string Name(UnitIndex unit) { return "unit " + std::to_string(unit); }

}  // namespace

Status FakeDriver::Open(const CoreOptions& options) {
  core_options_ = options;
  BERTH_ASSIGN_OR_RETURN(core_, Core::Create(options, this));
  table_.resize(options.geometry.units());
  drives_.resize(options.geometry.drives);
  links_.resize(options.cards.size());
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
  StepSpec spec;
  spec.layer = layer;
  spec.rows = static_cast<uint32_t>(ids.size() / g.top_k);
  spec.ids = ids;
  spec.pass = pass;
  spec.cookie = steps_.size();
  StepRecord record;
  record.layer = layer;
  record.ids = ids;
  record.seen.resize(ids.size(), 0);
  steps_.push_back(std::move(record));
  Result<TicketId> ticket = core_->SubmitStep(spec);
  if (!ticket.ok()) {
    steps_.back().done = true;
    AfterEvent();
    return ticket;
  }
  steps_.back().ticket = *ticket;
  for (const auto& [unit, slot] : before) {
    Expect(slot.slot == kNoSlot || Same(slot, core_->Find(unit)),
           Name(unit) + " was evicted or moved by the step that routes to it");
  }
  AfterEvent();
  return ticket;
}

Status FakeDriver::Hint(uint32_t layer, const std::vector<int32_t>& experts, uint64_t pass) {
  Status status = core_->SubmitHint(layer, experts, pass);
  AfterEvent();
  return status;
}

Result<LeaseId> FakeDriver::Lease(const std::vector<UnitIndex>& units) {
  // A lease of resident units is ready while it is being submitted.
  Result<LeaseId> lease = core_->SubmitLease(units, 7);
  if (lease.ok()) {
    HeldLease& held = leases_[*lease];
    held.units = units;
    held.ready = leases_ready.count(*lease) > 0 && leases_ready[*lease].ok();
  }
  AfterEvent();
  return lease;
}

Status FakeDriver::Release(LeaseId lease) {
  const auto ready = leases_ready.find(lease);
  const bool is_void = ready != leases_ready.end() && !ready->second.ok();
  Status status = core_->ReleaseLease(lease);
  const auto held = leases_.find(lease);
  if (held != leases_.end()) {
    Expect(status.ok() == (!is_void && !held->second.released), "a release was answered wrongly");
    held->second.released = true;
  }
  AfterEvent();
  return status;
}

void FakeDriver::Close() {
  closed_ = true;
  core_->Close();
  AfterEvent();
}

// ---- the sink

void FakeDriver::Add(Pending pending) {
  for (const Pending& other : pending_) {
    Expect(other.op != pending.op || (pending.what == What::kRead && other.what == What::kRead &&
                                      other.read.extent != pending.read.extent),
           "one operation was handed out twice");
  }
  ++sequence_;
  switch (options_.order) {
    case DriverOptions::Order::kInOrder:
      pending.due = sequence_;
      break;
    case DriverOptions::Order::kReversed:
      pending.due = UINT64_MAX - sequence_;
      break;
    case DriverOptions::Order::kRandom:
      pending.due = now_ + 1 + rng_() % 16 + (rng_() % 8 == 0 ? rng_() % 400 : 0);
      break;
  }
  pending_.push_back(std::move(pending));
}

void FakeDriver::Depart(Flight* flight, uint64_t bytes, bool prefetch, uint64_t limit,
                        uint64_t prefetch_limit, const std::string& what) {
  Expect(flight->pieces == 0 || flight->all + bytes <= limit, what + ": too many bytes in flight");
  Expect(!prefetch || flight->prefetch_pieces == 0 || flight->prefetch + bytes <= prefetch_limit,
         what + ": too many bytes of prefetch in flight");
  flight->all += bytes;
  ++flight->pieces;
  if (prefetch) {
    flight->prefetch += bytes;
    ++flight->prefetch_pieces;
  }
}

void FakeDriver::Arrive(Flight* flight, uint64_t bytes, bool prefetch) {
  flight->all -= bytes;
  --flight->pieces;
  if (prefetch) {
    flight->prefetch -= bytes;
    --flight->prefetch_pieces;
  }
}

void FakeDriver::Read(const ReadAction& action) {
  const Geometry& g = core_options_.geometry;
  Bytes& to = At(action.to);
  Expect(to.readers == 0, Name(action.unit) + ": a read into a slot that is being copied from");
  Expect(to.writer == 0 || to.writer == action.op, "two operations write one host slot");
  Expect(action.extent < g.extents(action.unit), "an extent that is not there");
  if (to.writer == 0) {
    to.extents.fill(UINT32_MAX);
    to.written = 0;
    to.failed = false;
  }
  to.writer = action.op;
  ++to.writes;
  Depart(&drives_[g.drive_of(action.unit)], g.read_bytes(action.unit, action.extent),
         action.prefetch, core_options_.read_bytes_in_flight,
         core_options_.prefetch_read_bytes_in_flight, "drive");
  reads.push_back(action);
  Pending pending{};
  pending.what = What::kRead;
  pending.op = action.op;
  pending.read = action;
  Add(std::move(pending));
}

void FakeDriver::Copy(const CopyAction& action) {
  Bytes& host = At(action.host);
  Bytes& card = At(action.card);
  Bytes& from = action.to_card ? host : card;
  Bytes& to = action.to_card ? card : host;
  Expect(from.writer == 0 && Holds(from, action.unit),
         Name(action.unit) + ": a copy starts from a slot without its bytes");
  Expect(to.readers == 0 && to.writer == 0, Name(action.unit) + ": a copy over a slot in use");
  if (action.to_card && !action.card.ring) {
    for (UnitIndex u = 0; u < table_.size(); ++u) {
      Expect(table_[u].slot.slot == kNoSlot || !Same(table_[u].slot, action.card),
             Name(action.unit) + ": a copy into a slot that the table still gives to " + Name(u));
    }
  }
  ++from.readers;
  to.writer = action.op;
  to.extents.fill(UINT32_MAX);
  Depart(&links_[action.card.card], core_options_.geometry.payload_bytes(action.unit),
         action.prefetch, core_options_.copy_bytes_in_flight,
         core_options_.prefetch_copy_bytes_in_flight, "link");
  copies.push_back(action);
  Pending pending{};
  pending.what = What::kCopy;
  pending.op = action.op;
  pending.copy = action;
  Add(std::move(pending));
}

void FakeDriver::Publish(const PublishAction& action) {
  Entry& entry = table_[action.unit];
  Expect(!entry.moving, Name(action.unit) + ": two updates of one table entry at once");
  entry.moving = true;
  const Bytes& bytes = At(action.slot);
  if (action.publish) {
    Expect(bytes.writer == 0 && Holds(bytes, action.unit),
           Name(action.unit) + " is published before its bytes are there");
  }
  publishes.push_back(action);
  Pending pending{};
  pending.what = What::kPublish;
  pending.op = action.op;
  pending.publish = action;
  Add(std::move(pending));
}

void FakeDriver::Compute(const ComputeAction& action) {
  CheckWaveUnits(action, "starts");
  CheckWavePairs(action);
  WaveRecord record{action.ticket, action.card, action.wave, {}, {}};
  for (const WaveUnit& unit : action.units) {
    ++At(unit.slot).readers;
    record.units.push_back(unit);
    const auto pairs = action.pairs.subspan(unit.first_pair, unit.pair_count);
    record.pairs.emplace_back(pairs.begin(), pairs.end());
  }
  waves.push_back(std::move(record));
  ++steps_[action.cookie].waves_running;
  Pending pending{};
  pending.what = What::kCompute;
  pending.op = action.op;
  pending.compute = action;
  Add(std::move(pending));
}

void FakeDriver::CheckWaveUnits(const ComputeAction& action, const char* when) {
  for (const WaveUnit& unit : action.units) {
    const Bytes& bytes = At(unit.slot);
    Expect(bytes.writer == 0 && Holds(bytes, unit.unit),
           std::string("a wave ") + when + " on a slot without " + Name(unit.unit));
    Expect(unit.slot.card == action.card, "a wave of one card names a slot of another");
    if (unit.slot.ring) continue;
    Expect(Same(table_[unit.unit].slot, unit.slot), std::string("a wave ") + when +
                                                        " while the table entry of " +
                                                        Name(unit.unit) + " points elsewhere");
  }
}

void FakeDriver::CheckWavePairs(const ComputeAction& action) {
  StepRecord& step = steps_[action.cookie];
  Expect(!step.done, "a wave of a step that is done");
  Expect(action.layer == step.layer, "a wave of another layer");
  const uint32_t experts = core_options_.geometry.experts;
  for (const WaveUnit& unit : action.units) {
    for (uint32_t pair : action.pairs.subspan(unit.first_pair, unit.pair_count)) {
      Expect(pair < step.ids.size() && step.ids[pair] >= 0 &&
                 step.layer * experts + static_cast<uint32_t>(step.ids[pair]) == unit.unit,
             "a pair stands with a unit that it does not route to");
      if (pair < step.seen.size()) ++step.seen[pair];
    }
  }
}

void FakeDriver::TicketDone(TicketId ticket, uint64_t cookie, const Status& status) {
  StepRecord& step = steps_[cookie];
  Expect(!step.done, "a ticket is done twice");
  Expect(step.waves_running == 0, "a ticket is done while a wave of it runs");
  step.done = true;
  done[ticket] = status;
  for (size_t p = 0; p < step.ids.size(); ++p) {
    const uint32_t expected = step.ids[p] == kNoExpert ? 0 : 1;
    Expect(status.ok() ? step.seen[p] == expected : step.seen[p] <= expected,
           "a pair was not computed exactly once");
  }
  if (status.ok()) return;
  if (status.code() == StatusCode::kCancelled) {
    Expect(closed_, "a step was cancelled, and nobody closed");
    return;
  }
  // The message of an injected failure ends in the unit (or, for a wave, the cookie) it hit.
  const std::string message(status.message());
  const uint64_t at = std::stoull(message.substr(message.rfind(' ') + 1));
  if (message.find("wave") != std::string::npos) {
    Expect(at == cookie, "a step failed with the failure of another step's wave");
    return;
  }
  const uint32_t experts = core_options_.geometry.experts;
  Expect(std::any_of(step.ids.begin(), step.ids.end(),
                     [&](int32_t id) { return id >= 0 && step.layer * experts + id == at; }),
         "a step failed with " + Name(static_cast<UnitIndex>(at)) + ", which it does not need");
}

void FakeDriver::LeaseReady(LeaseId lease, uint64_t cookie, const Status& status) {
  Expect(cookie == 7, "a lease's cookie changed");
  Expect(leases_ready.emplace(lease, status).second, "a lease is ready twice");
  const auto held = leases_.find(lease);
  if (held == leases_.end()) return;  // within its submission
  Expect(!held->second.released, "a lease is ready after its release");
  held->second.ready = status.ok();
}

// ---- answers

Status FakeDriver::Inject(What what, UnitIndex unit) {
  const auto chance = [this](double p) {
    return p > 0 && std::uniform_real_distribution<double>()(rng_) < p;
  };
  const std::string at = "injected at unit " + std::to_string(unit);
  switch (what) {
    case What::kRead:
      if (options_.broken_units.count(unit) > 0 || chance(options_.read_failure)) {
        return UnavailableError("read: " + at);
      }
      break;
    case What::kCopy:
      if (chance(options_.copy_failure)) return UnavailableError("copy: " + at);
      break;
    case What::kPublish:
      if (chance(options_.publish_failure)) return UnavailableError("publish: " + at);
      break;
    case What::kCompute:
      // `unit` is the cookie here.
      if (chance(options_.wave_failure)) {
        return UnavailableError("injected in the wave of step " + std::to_string(unit));
      }
      break;
  }
  return Status();
}

bool FakeDriver::Answer() {
  if (pending_.empty()) {
    Expect(core_->idle(), "nothing is pending and the core is not idle");
    return false;
  }
  const auto first =
      std::min_element(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) {
        return a.due != b.due ? a.due < b.due : a.op < b.op;
      });
  now_ = std::max(now_, first->due);
  UnitIndex unit = kNoUnit;
  switch (first->what) {
    case What::kRead:
      unit = first->read.unit;
      break;
    case What::kCopy:
      unit = first->copy.unit;
      break;
    case What::kPublish:
      unit = first->publish.unit;
      break;
    case What::kCompute:
      unit = static_cast<UnitIndex>(first->compute.cookie);
      break;
  }
  AnswerAt(first - pending_.begin(), Inject(first->what, unit));
  return true;
}

bool FakeDriver::AnswerOne(What what, UnitIndex unit, const Status& status) {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending& p = pending_[i];
    if (p.what != what) continue;
    const UnitIndex of = what == What::kRead      ? p.read.unit
                         : what == What::kCopy    ? p.copy.unit
                         : what == What::kPublish ? p.publish.unit
                                                  : kNoUnit;
    if (unit != kNoUnit && of != unit) continue;
    AnswerAt(i, status);
    return true;
  }
  return false;
}

void FakeDriver::AnswerAt(size_t at, const Status& status) {
  const Pending p = std::move(pending_[at]);
  pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(at));
  if (!status.ok()) ++injected;
  switch (p.what) {
    case What::kRead:
      EndRead(p.read, status.ok());
      core_->ReadDone(p.op, p.read.extent, status);
      break;
    case What::kCopy:
      EndCopy(p.copy, status.ok());
      core_->CopyDone(p.op, status);
      break;
    case What::kPublish:
      if (!status.ok()) table_[p.publish.unit].uncertain = true;
      EndPublish(p.publish, status.ok() || rng_() % 2 == 0);
      core_->PublishDone(p.op, status);
      break;
    case What::kCompute:
      EndCompute(p.compute);
      core_->ComputeDone(p.op, status);
      break;
  }
  AfterEvent();
}

void FakeDriver::EndRead(const ReadAction& action, bool ok) {
  const Geometry& g = core_options_.geometry;
  Bytes& to = At(action.to);
  Expect(to.writer == action.op && to.readers == 0, "a host slot changed hands during a read");
  --to.writes;
  ++to.written;
  if (ok) to.extents[action.extent] = action.unit;
  to.failed |= !ok;
  // After a failure the pieces that were not asked for yet never are.
  if (to.writes == 0 && (to.failed || to.written == g.extents(action.unit))) to.writer = 0;
  Arrive(&drives_[g.drive_of(action.unit)], g.read_bytes(action.unit, action.extent),
         action.prefetch);
}

void FakeDriver::EndCopy(const CopyAction& action, bool ok) {
  Bytes& from = action.to_card ? At(action.host) : At(action.card);
  Bytes& to = action.to_card ? At(action.card) : At(action.host);
  Expect(Holds(from, action.unit) && from.writer == 0,
         Name(action.unit) + ": the source was overwritten during its copy");
  Expect(to.writer == action.op && to.readers == 0, "a slot changed hands during a copy");
  --from.readers;
  to.writer = 0;
  if (ok) to.extents = from.extents;
  Arrive(&links_[action.card.card], core_options_.geometry.payload_bytes(action.unit),
         action.prefetch);
}

void FakeDriver::EndPublish(const PublishAction& action, bool applied) {
  Entry& entry = table_[action.unit];
  entry.moving = false;
  if (action.publish) {
    Expect(Holds(At(action.slot), action.unit), Name(action.unit) + " left while it was published");
  } else {
    Expect(entry.uncertain || entry.slot.slot == kNoSlot || Same(entry.slot, action.slot),
           Name(action.unit) + ": a withdrawal undoes a newer place");
  }
  if (!applied) return;
  entry.slot = action.publish ? action.slot : CardSlot{};
}

void FakeDriver::EndCompute(const ComputeAction& action) {
  CheckWaveUnits(action, "ends");
  for (const WaveUnit& unit : action.units) --At(unit.slot).readers;
  --steps_[action.cookie].waves_running;
}

// ---- checks

void FakeDriver::AfterEvent() {
  ++events_;
  if (Status s = core_->CheckInvariants(); !s.ok()) Expect(false, s.ToString());
  if (Status s = CheckBalance(core_->counters()); !s.ok()) Expect(false, s.ToString());
  for (const auto& [id, lease] : leases_) {
    if (!lease.ready || lease.released) continue;
    for (UnitIndex unit : lease.units) {
      const CardSlot slot = core_->Find(unit);
      Expect(slot.slot != kNoSlot && Same(table_[unit].slot, slot) && Holds(At(slot), unit),
             Name(unit) + " is leased and not in its place");
    }
  }
  if (pending_.empty()) Expect(core_->idle(), "nothing is pending and the core is not idle");
}

void FakeDriver::CheckQuiet(bool exact) {
  Expect(core_->idle() && pending_.empty(), "not quiet");
  for (size_t s = 0; s < steps_.size(); ++s) {
    Expect(steps_[s].done, "step " + std::to_string(s) + " is never done");
  }
  for (const auto& [id, lease] : leases_) {
    Expect(lease.released || leases_ready.count(id) > 0, "a lease is never ready");
  }
  if (!closed_) {
    for (UnitIndex u = 0; u < table_.size(); ++u) {
      const CardSlot slot = core_->Find(u);
      if (slot.slot != kNoSlot) {
        Expect(Same(table_[u].slot, slot) && Holds(At(slot), u), Name(u) + " is not where it is");
      } else {
        Expect(table_[u].uncertain || table_[u].slot.slot == kNoSlot, Name(u) + " is still listed");
      }
    }
  }
  if (!exact) return;
  const Geometry& g = core_options_.geometry;
  const Counters& c = core_->counters();
  std::vector<uint64_t> up(links_.size()), up_bytes(links_.size()), down_bytes(links_.size());
  for (const CopyAction& copy : copies) {
    if (copy.to_card) ++up[copy.card.card];
    (copy.to_card ? up_bytes : down_bytes)[copy.card.card] += g.payload_bytes(copy.unit);
  }
  std::vector<uint64_t> wave_count(links_.size());
  for (const WaveRecord& wave : waves) ++wave_count[wave.card];
  for (size_t i = 0; i < links_.size(); ++i) {
    Expect(up[i] == c.cards[i].units_h2d && up_bytes[i] == c.cards[i].bytes_h2d_demand +
                                                               c.cards[i].bytes_h2d_prefetch +
                                                               c.cards[i].bytes_h2d_warm,
           "copies to the card differ from the counters");
    Expect(down_bytes[i] == c.cards[i].bytes_d2h, "copies from the card differ from the counters");
    Expect(wave_count[i] == c.cards[i].waves, "waves differ from the counters");
  }
  uint64_t read_bytes = 0;
  uint64_t whole = 0;
  for (const ReadAction& read : reads) {
    read_bytes += g.read_bytes(read.unit, read.extent);
    if (read.extent == 0) ++whole;
  }
  Expect(whole == c.storage.units_demand + c.storage.units_prefetch + c.storage.units_warm,
         "reads differ from counters");
  Expect(read_bytes == c.storage.bytes_demand + c.storage.bytes_prefetch + c.storage.bytes_warm +
                           c.storage.bytes_alignment,
         "read bytes differ from the counters");
}

FakeDriver::Bytes& FakeDriver::At(const HostSlot& s) {
  const uint32_t limit = s.staging
                             ? core_options_.staging_slots + core_options_.prefetch_staging_slots
                             : core_options_.host_class_slots[s.size_class];
  Expect(s.slot < limit, "a host slot that is not there");
  return host_[{s.staging, s.staging ? 0 : s.size_class, s.slot}];
}

FakeDriver::Bytes& FakeDriver::At(const CardSlot& s) {
  const CardOptions& card = core_options_.cards[s.card];
  Expect(s.slot < (s.ring ? card.ring_slots : card.class_slots[s.size_class]),
         "a card slot that is not there");
  return card_[{s.card, s.ring, s.ring ? 0 : s.size_class, s.slot}];
}

bool FakeDriver::Holds(const Bytes& bytes, UnitIndex unit) const {
  for (uint32_t e = 0; e < core_options_.geometry.extents(unit); ++e) {
    if (bytes.extents[e] != unit) return false;
  }
  return true;
}

}  // namespace berth::scheduler
