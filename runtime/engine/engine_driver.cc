// Engine: actions carried out, completions carried back.
#include <string>

#include "runtime/base/check.h"
#include "runtime/engine/engine.h"

namespace berth {
namespace {

// Queues are sized at open for all that can be under way; a refusal is a fault of that sizing or a
// lost device.
void MustEnqueue(const Status& status) {
  if (!status.ok()) {
    internal::CheckFailed(__FILE__, __LINE__, "enqueued", std::string(status.message()).c_str());
  }
}

}  // namespace

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
    if (closed_) changed_.SignalAll();
  }
  if (arrived.unit != kNoUnit) checksum_worker_->Hand(arrived);
}

void Engine::UnitProved(const ArrivedUnit& unit, const Status& status) {
  MutexLock lock(&mutex_);
  core_->ReadDone(unit.op, unit.extent, status);
  if (closed_) changed_.SignalAll();
}

void Engine::Copy(const scheduler::CopyAction& action) {
  Card& card = cards_[action.card.card];
  const CopyPlan plan = host_.Copy(action.unit, action.host, Address(action.card), action.to_card);
  kernels::Stream* stream = action.to_card ? card.copy_in.get() : card.copy_out.get();
  for (uint32_t s = 0; s < plan.count; ++s) {
    (action.to_card ? moved_.h2d : moved_.d2h) += plan.segments[s].bytes;
  }
  clock_.Begin(ActivityClock::kCopy);
  MustEnqueue(stream->Copy(
      action.to_card ? kernels::CopyDirection::kToCard : kernels::CopyDirection::kToHost,
      {plan.segments.data(), plan.count}));
  MustEnqueue(stream->Notify(action.op));
}

void Engine::CopyInReached(uint64_t token, const Status& status) {
  MutexLock lock(&mutex_);
  clock_.End(ActivityClock::kCopy);
  core_->CopyDone(token, status);
  if (closed_) changed_.SignalAll();
}

void Engine::CopyOutReached(uint64_t token, const Status& status) { CopyInReached(token, status); }

void Engine::Publish(const scheduler::PublishAction& action) {
  kernels::Stream* table = cards_[action.slot.card].table.get();
  const kernels::TableEntry entry{action.unit, action.publish ? Address(action.slot) : nullptr};
  MustEnqueue(table->UpdateTable({&entry, 1}));
  MustEnqueue(table->Notify(action.op));
}

void Engine::TableReached(uint64_t token, const Status& status) {
  MutexLock lock(&mutex_);
  core_->PublishDone(token, status);
  if (closed_) changed_.SignalAll();
}

void Engine::Compute(const scheduler::ComputeAction& action) {
  StepPlace& place = places_[action.cookie];
  kernels::Stream* stream = cards_[action.card].compute.get();
  clock_.Begin(ActivityClock::kCompute);
  if (options_.compute) {
    kernels::WaveUnit* units = &place.units[place.units_used];
    place.units_used += static_cast<uint32_t>(action.units.size());
    for (size_t i = 0; i < action.units.size(); ++i) {
      const scheduler::WaveUnit& unit = action.units[i];
      units[i] = {unit.unit, unit.unit % shape_.experts, unit.first_pair, unit.pair_count,
                  unit.slot.ring ? Address(unit.slot) : nullptr};
    }
    kernels::GroupedCall call;
    call.spec = &catalog_->layer(action.layer).spec;
    call.units = units;
    call.unit_count = static_cast<uint32_t>(action.units.size());
    call.pairs = action.pairs.data();
    call.top_k = shape_.top_k;
    call.x = place.x.data();
    call.weights = place.weights.data();
    call.partials = place.partials.data();
    MustEnqueue(stream->Run(call));
  }
  MustEnqueue(stream->Notify(action.op));
}

void Engine::WaveReached(uint64_t token, const Status& status) {
  MutexLock lock(&mutex_);
  clock_.End(ActivityClock::kCompute);
  core_->ComputeDone(token, status);
  if (closed_) changed_.SignalAll();
}

void Engine::TicketDone(scheduler::TicketId, uint64_t cookie, const Status& status) {
  StepPlace& place = places_[cookie];
  if (!status.ok() || !options_.compute) {
    EndStep(&place, status);
    return;
  }
  clock_.Begin(ActivityClock::kCompute);
  MustEnqueue(reduce_->Reduce(place.Reduce(shape_.top_k, shape_.hidden,
                                           catalog_->layer(0).spec.conventions.weights_before)));
  MustEnqueue(reduce_->Notify(cookie));
}

void Engine::ReduceReached(uint64_t token, const Status& status) {
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
