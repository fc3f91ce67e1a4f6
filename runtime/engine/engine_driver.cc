// Engine: actions carried out, completions carried back.
#include <array>
#include <string>

#include "runtime/base/check.h"
#include "runtime/engine/engine.h"

namespace berth {

// The sink may not call the core back, so the answer waits until the core has returned.
void Engine::Refused(scheduler::OpKind kind, scheduler::OpId op, Status status) {
  refusals_.push_back({kind, op, std::move(status)});
}

void Engine::Settle() {
  // Answers may lead to further actions, and those to further refusals.
  while (!refusals_.empty()) {
    const Refusal refusal = std::move(refusals_.back());
    refusals_.pop_back();
    switch (refusal.kind) {
      case scheduler::OpKind::kCopyUp:
      case scheduler::OpKind::kCopyBack:
        clock_.End(ActivityClock::kCopy);
        core_->CopyDone(refusal.op, refusal.status);
        break;
      case scheduler::OpKind::kHostWave:
        clock_.End(ActivityClock::kHostCompute);
        core_->ComputeDone(refusal.op, refusal.status);
        break;
      case scheduler::OpKind::kWave:
        clock_.End(ActivityClock::kCompute);
        core_->ComputeDone(refusal.op, refusal.status);
        break;
      default:
        core_->PublishDone(refusal.op, refusal.status);
        break;
    }
  }
  if (closed_ || idle_waiters_ > 0) changed_.SignalAll();
}

std::byte* Engine::Address(const scheduler::CardSlot& slot) {
  const arena::CardArena& arena = *cards_[slot.card].arena;
  return slot.ring ? arena.ring_slot(slot.slot) : arena.slot(slot.size_class, slot.slot);
}

void Engine::Read(const scheduler::ReadAction& action) {
  BERTH_CHECK(!free_reads_.empty());
  const uint32_t index = free_reads_.back();
  free_reads_.pop_back();
  reads_[index] = {action.op, action.unit, action.extent, action.to};
  if (action.extent == 0) {
    extents_left_[host_.DenseIndex(action.to)] =
        static_cast<uint8_t>(catalog_->extents(action.unit).size());
  }
  io::ReadRequest read = host_.Read(action.unit, action.extent, action.to);
  read.token = index;
  clock_.Begin(ActivityClock::kRead);
  storage_->Submit({&read, 1});
}

void Engine::ReadCompleted(const io::ReadResult& result) {
  ArrivedUnit arrived;
  {
    MutexLock lock(&mutex_);
    clock_.End(ActivityClock::kRead);
    moved_.storage += result.bytes;
    moved_.retries += result.retries;
    moved_.retried += result.retried_bytes;
    const uint32_t index = static_cast<uint32_t>(result.token);
    const ReadRecord record = reads_[index];
    free_reads_.push_back(index);
    const bool last = --extents_left_[host_.DenseIndex(record.slot)] == 0;
    if (!result.status.ok()) {
      const Extent& extent = catalog_->extents(record.unit)[record.extent];
      core_->ReadDone(record.op, record.extent,
                      result.status.Annotate(catalog_->Describe(record.unit) + ", " +
                                             std::string(TensorRoleName(extent.role))));
    } else if (!last || checksum_worker_ == nullptr) {
      core_->ReadDone(record.op, record.extent, Status());
    } else {
      arrived = {record.unit, record.slot, record.op, record.extent};
    }
    Settle();
  }
  if (arrived.unit != kNoUnit) checksum_worker_->Hand(arrived);
}

void Engine::UnitProved(const ArrivedUnit& unit, const Status& status) {
  MutexLock lock(&mutex_);
  core_->ReadDone(unit.op, unit.extent, status);
  Settle();
}

void Engine::Copy(const scheduler::CopyAction& action) {
  Card& card = cards_[action.card.card];
  const CopyPlan plan = host_.Copy(action.unit, action.host, Address(action.card), action.to_card);
  kernels::Stream* stream = action.to_card ? card.copy_in.get() : card.copy_out.get();
  for (uint32_t s = 0; s < plan.count; ++s) {
    (action.to_card ? moved_.h2d : moved_.d2h) += plan.segments[s].bytes;
  }
  clock_.Begin(ActivityClock::kCopy);
  Status status = stream->Copy(
      action.to_card ? kernels::CopyDirection::kToCard : kernels::CopyDirection::kToHost,
      {plan.segments.data(), plan.count});
  if (status.ok()) status = stream->Notify(action.op);
  if (!status.ok()) Refused(scheduler::OpKind::kCopyUp, action.op, std::move(status));
}

void Engine::CopyReached(uint64_t token, const Status& status) {
  MutexLock lock(&mutex_);
  clock_.End(ActivityClock::kCopy);
  core_->CopyDone(token, status);
  Settle();
}

void Engine::Publish(const scheduler::PublishAction& action) {
  kernels::Stream* table = cards_[action.slot.card].table.get();
  const kernels::TableEntry entry{action.unit, action.publish ? Address(action.slot) : nullptr};
  Status status = table->UpdateTable({&entry, 1});
  if (status.ok()) status = table->Notify(action.op);
  if (!status.ok()) Refused(scheduler::OpKind::kPublish, action.op, std::move(status));
}

void Engine::TableReached(uint64_t token, const Status& status) {
  MutexLock lock(&mutex_);
  core_->PublishDone(token, status);
  Settle();
}

kernels::GroupedCall Engine::CallOf(const scheduler::ComputeAction& action) {
  StepPlace& place = places_[action.cookie];
  const kernels::ExpertSpec& spec = catalog_->layer(action.layer).spec;
  const std::array<uint64_t, 3> offsets = {spec.gate.offset, spec.up.offset, spec.down.offset};
  kernels::WaveUnit* units = &place.units[place.units_used];
  place.units_used += static_cast<uint32_t>(action.units.size());
  for (size_t i = 0; i < action.units.size(); ++i) {
    const scheduler::WaveUnit& unit = action.units[i];
    units[i] = {unit.unit, unit.unit % shape_.experts, unit.first_pair, unit.pair_count, nullptr,
                {}};
    if (action.on_host) {
      const std::byte* const slot = host_.Address(unit.host);
      units[i].address =
          in_place() ? cards_[action.card].device->CardAddress(slot, spec.unit_bytes) : slot;
      units[i].shifts = host_.Shifts(unit.unit, offsets);
    } else if (unit.slot.ring) {
      units[i].address = Address(unit.slot);
    }
  }
  kernels::GroupedCall call;
  call.spec = &spec;
  call.units = units;
  call.unit_count = static_cast<uint32_t>(action.units.size());
  place.TakePairs(action.pairs);
  call.pairs = place.pairs.data();
  call.top_k = shape_.top_k;
  call.rows = place.rows;
  call.x = place.x.data();
  call.weights = place.weights.data();
  call.partials = place.partials;
  const std::vector<KernelTable>& chosen = cards_[action.card].kernels;
  if (!chosen.empty()) call.kernel = chosen[action.layer].For(place.rows);
  return call;
}

void Engine::Compute(const scheduler::ComputeAction& action) {
  const bool on_host = action.on_host && !in_place();
  kernels::Stream* stream = on_host ? host_compute_.get() : cards_[action.card].compute.get();
  clock_.Begin(on_host ? ActivityClock::kHostCompute : ActivityClock::kCompute);
  Status status;
  if (options_.compute) status = stream->Run(CallOf(action));
  if (status.ok()) status = stream->Notify(action.op);
  if (status.ok()) return;
  Refused(on_host ? scheduler::OpKind::kHostWave : scheduler::OpKind::kWave, action.op,
          std::move(status));
}

void Engine::HostWaveReached(uint64_t token, const Status& status) {
  MutexLock lock(&mutex_);
  clock_.End(ActivityClock::kHostCompute);
  core_->ComputeDone(token, status);
  Settle();
}

void Engine::WaveReached(uint64_t token, const Status& status) {
  MutexLock lock(&mutex_);
  clock_.End(ActivityClock::kCompute);
  core_->ComputeDone(token, status);
  Settle();
}

void Engine::TicketDone(scheduler::TicketId, uint64_t cookie, const Status& status) {
  StepPlace& place = places_[cookie];
  if (!status.ok() || !options_.compute) {
    EndStep(&place, status);
    return;
  }
  Status reduced =
      reduce_->Reduce(place.Reduce(catalog_->layer(0).spec.conventions.weights_before));
  if (reduced.ok()) {
    clock_.Begin(ActivityClock::kCompute);
    reduced = reduce_->Notify(cookie);
    if (reduced.ok()) return;
    clock_.End(ActivityClock::kCompute);
  }
  EndStep(&place, reduced);
}

void Engine::ReduceReached(uint64_t token, const Status& status) {
  // A place under way changes by nobody else's hand.
  if (status.ok()) places_[token].CopyOut();
  MutexLock lock(&mutex_);
  clock_.End(ActivityClock::kCompute);
  EndStep(&places_[token], status);
}

void Engine::EndStep(StepPlace* place, const Status& status) {
  place->status = status;
  place->state = StepState::kDone;
  --steps_under_way_;
  clock_.End(ActivityClock::kStep);
  changed_.SignalAll();
}

}  // namespace berth
