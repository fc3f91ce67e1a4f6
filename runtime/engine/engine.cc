// Engine: what callers ask.
#include "runtime/engine/engine.h"

#include <cstdint>
#include <string>

#include "runtime/base/check.h"

namespace berth {
namespace {

constexpr char kSpent[] = "this ticket is spent, or not of this session";

// `what` begins at a multiple of its elements.
Status CheckAligned(const char* what, const void* begin, size_t element_bytes) {
  if (reinterpret_cast<uintptr_t>(begin) % element_bytes == 0) return Status();
  return InvalidArgumentError(std::string("a step whose ") + what + " begins at no multiple of " +
                              std::to_string(element_bytes) + " bytes");
}

}  // namespace

Engine::Engine(const RuntimeOptions& options) : options_(options) {}

Engine::~Engine() {
  Close();
  // Streams first: their threads call into this object until they have drained.
  reduce_.reset();
  host_compute_.reset();
  for (Card& card : cards_) {
    card.compute.reset();
    card.table.reset();
    card.copy_out.reset();
    card.copy_in.reset();
  }
  checksum_worker_.reset();
  storage_.reset();
  for (Card& card : cards_) {
    if (card.device == nullptr) continue;
    for (auto region = registered_.rbegin(); region != registered_.rend(); ++region) {
      (void)card.device->UnregisterHost(region->begin);
    }
  }
}

void Engine::Close() {
  {
    MutexLock lock(&mutex_);
    if (core_ == nullptr) return;
    if (!closed_) {
      closed_ = true;
      core_->Close();
      Settle();
    }
    while (!core_->idle() || steps_under_way_ > 0) changed_.Wait(&mutex_);
  }
  // Absent where opening it was what failed.
  if (storage_ != nullptr) storage_->Close();
}

void Engine::WaitIdle() {
  MutexLock lock(&mutex_);
  ++idle_waiters_;
  while (!core_->idle() || steps_under_way_ > 0) changed_.Wait(&mutex_);
  --idle_waiters_;
}

Stats Engine::stats() {
  MutexLock lock(&mutex_);
  Stats stats;
  stats.counters = core_->counters();
  stats.time = clock_.Read();
  stats.moved = moved_;
  for (const Card& card : cards_) {
    const kernels::KernelLaunches launches = card.device->kernel_launches();
    stats.launches.push_back({launches.plain, launches.dots, launches.matrices, launches.wide});
  }
  return stats;
}

void Engine::Learned(std::vector<double>* heat) {
  MutexLock lock(&mutex_);
  core_->Learned(heat);
}

Result<uint32_t> Engine::OpenSession() {
  MutexLock lock(&mutex_);
  if (closed_) return FailedPreconditionError("the runtime is closed");
  for (uint32_t s = 0; s < session_open_.size(); ++s) {
    if (session_open_[s]) continue;
    session_open_[s] = true;
    return s;
  }
  return ResourceExhaustedError("max_sessions = " + std::to_string(session_open_.size()) +
                                " sessions are open: close one or raise max_sessions");
}

void Engine::CloseSession(uint32_t session) {
  MutexLock lock(&mutex_);
  const uint32_t first = session * options_.max_in_flight;
  for (uint32_t p = first; p < first + options_.max_in_flight; ++p) {
    while (places_[p].state == StepState::kRunning) changed_.Wait(&mutex_);
    places_[p].state = StepState::kFree;
    ++places_[p].generation;
  }
  session_open_[session] = false;
}

Status Engine::CheckStep(uint32_t max_rows, const Step& step) const {
  if (step.rows == 0 || step.rows > max_rows) {
    return OutOfRangeError("a step of " + std::to_string(step.rows) +
                           " rows: 1 to max_rows = " + std::to_string(max_rows) + " are served");
  }
  if (step.ids == nullptr) return InvalidArgumentError("a step without expert ids");
  BERTH_RETURN_IF_ERROR(CheckAligned("ids", step.ids, sizeof(*step.ids)));
  if (!options_.compute) return Status();
  if (step.x == nullptr || step.weights == nullptr || step.y == nullptr) {
    return InvalidArgumentError("a step without x, weights or y");
  }
  BERTH_RETURN_IF_ERROR(CheckAligned("x", step.x, ElementBytes(step.x_type)));
  BERTH_RETURN_IF_ERROR(CheckAligned("weights", step.weights, sizeof(*step.weights)));
  BERTH_RETURN_IF_ERROR(CheckAligned("y", step.y, ElementBytes(step.y_type)));
  if ((step.x_stride != 0 && step.x_stride < shape_.hidden) ||
      (step.y_stride != 0 && step.y_stride < shape_.hidden)) {
    return InvalidArgumentError("a stride shorter than the model's " +
                                std::to_string(shape_.hidden) + " hidden values");
  }
  return Status();
}

Result<Ticket> Engine::Enqueue(uint32_t session, uint32_t max_rows, const Step& step) {
  BERTH_RETURN_IF_ERROR(CheckStep(max_rows, step));
  const uint32_t first = session * options_.max_in_flight;
  uint32_t index = first;
  {
    MutexLock lock(&mutex_);
    if (closed_) return FailedPreconditionError("the runtime is closed");
    while (index < first + options_.max_in_flight && places_[index].state != StepState::kFree) {
      ++index;
    }
    if (index == first + options_.max_in_flight) {
      return ResourceExhaustedError("max_in_flight = " + std::to_string(options_.max_in_flight) +
                                    " steps of this session are not done: wait for one");
    }
    places_[index].state = StepState::kFilling;
  }
  StepPlace& place = places_[index];
  place.Fill(step);

  MutexLock lock(&mutex_);
  place.state = StepState::kRunning;
  place.status = Status();
  ++steps_under_way_;
  clock_.Begin(ActivityClock::kStep);
  scheduler::StepSpec spec;
  spec.layer = step.layer;
  spec.rows = step.rows;
  spec.ids = {place.ids.data(), static_cast<size_t>(step.rows) * shape_.top_k};
  spec.pass = step.pass;
  spec.cookie = index;
  const Result<scheduler::TicketId> submitted = core_->SubmitStep(spec);
  Settle();
  if (!submitted.ok()) {
    clock_.End(ActivityClock::kStep);
    --steps_under_way_;
    place.state = StepState::kFree;
    return submitted.status();
  }
  return Ticket{index, place.generation};
}

// Null for a ticket that is spent, or that another session holds.
StepPlace* Engine::Running(uint32_t session, Ticket ticket) {
  if (ticket.place / options_.max_in_flight != session) return nullptr;
  StepPlace& place = places_[ticket.place];
  const bool given = place.state == StepState::kRunning || place.state == StepState::kDone;
  return given && place.generation == ticket.generation ? &place : nullptr;
}

bool Engine::Poll(uint32_t session, Ticket ticket, Status* status) {
  MutexLock lock(&mutex_);
  StepPlace* place = Running(session, ticket);
  if (place == nullptr) {
    *status = FailedPreconditionError(kSpent);
    return true;
  }
  if (place->state != StepState::kDone) return false;
  *status = place->status;
  place->state = StepState::kFree;
  ++place->generation;
  return true;
}

Status Engine::Wait(uint32_t session, Ticket ticket) {
  MutexLock lock(&mutex_);
  StepPlace* place = Running(session, ticket);
  if (place == nullptr) return FailedPreconditionError(kSpent);
  while (place->state != StepState::kDone) changed_.Wait(&mutex_);
  place->state = StepState::kFree;
  ++place->generation;
  return place->status;
}

Status Engine::Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) {
  MutexLock lock(&mutex_);
  const Status status = core_->SubmitHint(layer, experts, pass);
  Settle();
  return status;
}

Result<uint32_t> Engine::Acquire(std::span<const UnitRef> units) {
  MutexLock lock(&mutex_);
  uint32_t index = 0;
  while (index < leases_.size() && leases_[index].used) ++index;
  if (index == leases_.size()) {
    return ResourceExhaustedError(std::to_string(leases_.size()) + " leases are held: release one");
  }
  LeasePlace& lease = leases_[index];
  lease.units.clear();
  for (const UnitRef& ref : units) {
    if (ref.layer >= shape_.layers || ref.expert >= shape_.experts) {
      return OutOfRangeError("lease of layer " + std::to_string(ref.layer) + " expert " +
                             std::to_string(ref.expert) + ": the model has " +
                             std::to_string(shape_.layers) + " layers of " +
                             std::to_string(shape_.experts) + " experts");
    }
    lease.units.push_back(catalog_->unit(ref));
  }
  lease.ready = false;
  lease.status = Status();
  const Result<scheduler::LeaseId> id = core_->SubmitLease(lease.units, index);
  Settle();
  if (!id.ok()) return id.status();
  lease.id = *id;
  lease.used = true;
  return index;
}

Status Engine::WaitLease(uint32_t index) {
  MutexLock lock(&mutex_);
  LeasePlace& lease = leases_[index];
  while (!lease.ready) changed_.Wait(&mutex_);
  return lease.status;
}

std::pair<uint32_t, const std::byte*> Engine::LeasedUnit(uint32_t index, size_t i) {
  MutexLock lock(&mutex_);
  const LeasePlace& lease = leases_[index];
  if (!lease.ready || !lease.status.ok() || i >= lease.units.size()) return {0, nullptr};
  const scheduler::CardSlot slot = core_->Find(lease.units[i]);
  BERTH_CHECK_MSG(slot.slot != kNoSlot, "a leased unit lost its slot");
  return {slot.card, Address(slot)};
}

void Engine::ReleaseLease(uint32_t index) {
  MutexLock lock(&mutex_);
  LeasePlace& lease = leases_[index];
  // A lease that failed is void already. One that is still on its way ends without a word.
  if (!lease.ready || lease.status.ok()) {
    const Status released = core_->ReleaseLease(lease.id);
    BERTH_CHECK(released.ok());
  }
  lease.used = false;
}

void Engine::LeaseReady(scheduler::LeaseId, uint64_t cookie, const Status& status) {
  LeasePlace& lease = leases_[cookie];
  lease.ready = true;
  lease.status = status;
  changed_.SignalAll();
}

}  // namespace berth
