// FakeDriver: how actions end and what the core is told.
#include <algorithm>
#include <utility>

#include "tests/scheduler/fake_driver.h"

namespace berth::scheduler {

UnitIndex FakeDriver::UnitOf(const Pending& pending) {
  switch (pending.what) {
    case What::kRead:
      return pending.read.unit;
    case What::kCopy:
      return pending.copy.unit;
    case What::kPublish:
      return pending.publish.unit;
    case What::kCompute:
      break;
  }
  return kNoUnit;
}

FakeDriver::Pending FakeDriver::Take(size_t at) {
  Pending taken = std::move(pending_[at]);
  if (at + 1 < pending_.size()) pending_[at] = std::move(pending_.back());
  pending_.pop_back();
  return taken;
}

bool FakeDriver::Answer() {
  if (pending_.empty()) {
    promises_.Expect(core_->idle(), "nothing is pending and the core is not idle");
    return false;
  }
  const auto first =
      std::min_element(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) {
        return a.due != b.due ? a.due < b.due : a.sequence < b.sequence;
      });
  if (options_.order == DriverOptions::Order::kRandom) now_ = std::max(now_, first->due);
  if (first->what == What::kRead && !ReadOn(&*first)) return true;
  AnswerAsDrawn(Take(first - pending_.begin()));
  return true;
}

bool FakeDriver::AnswerOne(What what, UnitIndex unit, const Status& status) {
  size_t oldest = pending_.size();
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending& p = pending_[i];
    if (p.what != what || (unit != kNoUnit && UnitOf(p) != unit)) continue;
    if (oldest == pending_.size() || p.sequence < pending_[oldest].sequence) oldest = i;
  }
  if (oldest == pending_.size()) return false;
  while (what == What::kRead && !ReadOn(&pending_[oldest])) {
  }
  Pending taken = Take(oldest);
  // What a test says goes wrong may be named by the steps that it meets.
  if (!status.ok() && unit != kNoUnit) steps_->UnitFailed(unit);
  AnswerWith(std::move(taken), status);
  return true;
}

bool FakeDriver::ReadOn(Pending* pending) {
  const uint32_t bytes =
      core_options_.geometry.read_bytes(pending->read.unit, pending->read.extent);
  uint64_t delay = 0;
  if (pending->reading.Advance(&random_, &delay)) return true;
  const bool bounded = pending->reading.results() < SimulatedRead::MostResults(bytes);
  promises_.Expect(bounded, "unit ", pending->read.unit, ": a read that is tried for ever");
  if (options_.order == DriverOptions::Order::kRandom) pending->due = now_ + delay;
  return !bounded;
}

void FakeDriver::AnswerAsDrawn(Pending pending) {
  const uint64_t last = sequence_;
  const Status status = ErrorOf(pending);
  const bool lost = pending.fault == Fault::kCopyLost;
  const uint32_t card = pending.copy.card.card;
  AnswerWith(std::move(pending), status);
  if (lost) ResetLink(card, last);
}

// Nobody knows what of the copies under way has arrived: the owner gives the link up and begins
// anew, and no byte of an old copy is written any more. All of them have failed.
void FakeDriver::ResetLink(uint32_t card, uint64_t last) {
  for (size_t i = 0; i < pending_.size();) {
    const Pending& p = pending_[i];
    if (p.what != What::kCopy || p.copy.card.card != card || p.sequence > last) {
      ++i;
      continue;
    }
    Pending taken = Take(i);
    taken.fault = Fault::kCopyLost;
    const Status status = ErrorOf(taken);
    AnswerWith(std::move(taken), status);
    i = 0;  // the answer may have changed what is pending
  }
}

Status FakeDriver::ErrorOf(const Pending& pending) const {
  if (!pending.fault.has_value()) return Status();
  const std::string who = pending.what == What::kCompute
                              ? "the wave of step " + std::to_string(pending.compute.cookie)
                              : "unit " + std::to_string(UnitOf(pending));
  const std::string message = who + ": injected: " + std::string(FaultName(*pending.fault));
  return *pending.fault == Fault::kRefused ? ResourceExhaustedError(message)
                                           : UnavailableError(message);
}

void FakeDriver::AnswerWith(Pending pending, const Status& outcome) {
  const Status status = End(&pending, outcome);
  if (!status.ok()) {
    ++injected_;
    if (pending.what == What::kCompute) {
      steps_->WaveFailed(pending.compute.cookie);
    } else {
      steps_->UnitFailed(UnitOf(pending));
    }
  }
  Promises::Event event = EventOf(pending, /*ends=*/true);
  event.code = status.code();
  promises_.Log(event);
  switch (pending.what) {
    case What::kRead:
      core_->ReadDone(pending.op, pending.read.extent, status);
      break;
    case What::kCopy:
      core_->CopyDone(pending.op, status);
      break;
    case What::kPublish:
      core_->PublishDone(pending.op, status);
      break;
    case What::kCompute:
      core_->ComputeDone(pending.op, status);
      break;
  }
  AfterInput();
}

Status FakeDriver::End(Pending* pending, const Status& outcome) {
  // What failed, or of which nobody heard, may be there all the same; what was refused is not.
  const auto there = [&] {
    return outcome.ok() || (pending->fault != Fault::kRefused && random_.OneIn(2));
  };
  switch (pending->what) {
    case What::kRead:
      return EndRead(*pending, outcome);
    case What::kCopy:
      truth_->EndCopy(pending->copy, there());
      break;
    case What::kPublish:
      if (!pending->applied && there()) truth_->ApplyUpdate(pending->publish);
      truth_->EndUpdate(pending->publish, outcome.ok());
      break;
    case What::kCompute: {
      std::vector<UnitIndex> flipped;
      for (const WaveUnit& unit : pending->compute.units) {
        const bool wrong = pending->compute.on_host ? truth_->Flipped(unit.host, unit.unit)
                                                    : truth_->Flipped(unit.slot, unit.unit);
        if (wrong) flipped.push_back(unit.unit);
      }
      truth_->EndWave(pending->compute);
      steps_->EndWave(pending->compute, flipped);
      break;
    }
  }
  return outcome;
}

// As an engine with checksums does: the unit is proved before the core hears of its last extent.
Status FakeDriver::EndRead(const Pending& pending, const Status& outcome) {
  const ReadAction& read = pending.read;
  const std::string unit = "unit " + std::to_string(read.unit);
  const Status status = outcome.ok() ? pending.reading.Finish("a drive").Annotate(unit) : outcome;
  const bool whole = status.ok() && pending.reading.whole();
  if (whole && pending.reading.flipped()) steps_->UnitFlipped(read.unit);
  const bool unit_whole = truth_->EndRead(read, whole, pending.reading.flipped());
  if (!status.ok() || !unit_whole || !faults_.plan().checksums ||
      !truth_->Flipped(read.to, read.unit)) {
    return status;
  }
  ++flips_found_;
  return DataLossError(unit + ": the checksum differs");
}

// The core has returned: what a stream refused meanwhile is answered first, as an engine does.
void FakeDriver::AfterInput() {
  CheckAfterEvent();
  while (!refused_.empty() && error().empty()) {
    Pending pending = std::move(refused_.back());
    refused_.pop_back();
    const Status status = ErrorOf(pending);
    AnswerWith(std::move(pending), status);
  }
}

// ---- the log

void FakeDriver::Log(const char* what, const char* of, uint32_t number, StatusCode code) {
  Promises::Event event;
  event.time = now_;
  event.what = what;
  event.where = of;
  event.number = number;
  event.code = code;
  promises_.Log(event);
}

Promises::Event FakeDriver::EventOf(const Pending& pending, bool ends) const {
  Promises::Event event;
  event.time = now_;
  event.op = pending.op;
  event.unit = UnitOf(pending);
  const auto card = [&event](const CardSlot& slot) {
    event.where = slot.ring ? "ring of card" : "arena of card";
    event.number = slot.card;
    event.slot = slot.slot;
  };
  switch (pending.what) {
    case What::kRead:
      event.what = ends ? "read ends" : "read begins";
      event.where = pending.read.to.staging ? "staging" : "host class";
      event.number = pending.read.to.size_class;
      event.slot = pending.read.to.slot;
      break;
    case What::kCopy:
      event.what = pending.copy.to_card ? (ends ? "copy up ends" : "copy up begins")
                                        : (ends ? "copy back ends" : "copy back begins");
      card(pending.copy.card);
      break;
    case What::kPublish:
      event.what = pending.publish.publish ? (ends ? "publish ends" : "publish begins")
                                           : (ends ? "withdrawal ends" : "withdrawal begins");
      card(pending.publish.slot);
      break;
    case What::kCompute:
      event.what = ends ? "wave ends" : "wave begins";
      event.where = pending.compute.on_host ? "host for card" : "card";
      event.number = pending.compute.card;
      break;
  }
  return event;
}

}  // namespace berth::scheduler
