// Engine: the real driver of the core. Owns what a Runtime is made of and carries actions to the
// storage and the cards, and completions back.
//
// One lock guards the core and all books. Under it, actions are enqueued on storage and streams,
// which never block and never call back from inside; completions come on threads of the storage and
// of the streams, with none of their locks held, and take the lock in turn. So there is no thread
// of the engine's own on a step's way, and no order of locks to get wrong.
#ifndef BERTH_RUNTIME_ENGINE_ENGINE_H_
#define BERTH_RUNTIME_ENGINE_ENGINE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arena/card_arena.h"
#include "arena/host_region.h"
#include "arena/topology.h"
#include "berth/runtime.h"
#include "io/storage.h"
#include "kernels/device.h"
#include "runtime/base/mutex.h"
#include "runtime/catalog/catalog.h"
#include "runtime/config/kernel_table.h"
#include "runtime/engine/activity_clock.h"
#include "runtime/engine/checksum_worker.h"
#include "runtime/engine/host_layout.h"
#include "runtime/engine/step_place.h"
#include "runtime/plan/memory_plan.h"
#include "scheduler/core.h"

namespace berth {

// What tests put in place of the real thing.
struct EngineHooks {
  std::function<Result<std::unique_ptr<io::Storage>>(const io::StorageOptions&)> open_storage =
      io::OpenStorage;
  std::function<Result<std::unique_ptr<kernels::Device>>(const kernels::DeviceOptions&)>
      open_device = kernels::OpenDevice;
};

class Engine final : private scheduler::Sink, private io::ReadSink, private ChecksumSink {
 public:
  static Result<std::unique_ptr<Engine>> Open(const RuntimeOptions& options,
                                              const EngineHooks& hooks);
  // The same in two steps, for callers that look at the model before anything is allocated.
  static Result<std::unique_ptr<Catalog>> ReadModel(const RuntimeOptions& options);
  static Result<std::unique_ptr<Engine>> Open(const RuntimeOptions& options,
                                              std::unique_ptr<Catalog> catalog,
                                              const EngineHooks& hooks);
  static ModelShape ShapeOf(const Catalog& catalog);
  ~Engine();

  const ModelShape& shape() const { return shape_; }
  const RuntimeInfo& info() const { return info_; }
  std::span<const UnitTensor> unit_layout(uint32_t layer) const { return unit_layouts_[layer]; }
  uint32_t max_rows() const { return options_.max_rows; }
  Stats stats();
  void Learned(std::vector<double>* heat);

  Result<uint32_t> OpenSession();
  void CloseSession(uint32_t session);
  Result<Ticket> Enqueue(uint32_t session, uint32_t max_rows, const Step& step);
  bool Poll(uint32_t session, Ticket ticket, Status* status);
  Status Wait(uint32_t session, Ticket ticket);
  Status Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass);
  Result<uint32_t> Acquire(std::span<const UnitRef> units);
  Status WaitLease(uint32_t place);
  std::pair<uint32_t, const std::byte*> LeasedUnit(uint32_t place, size_t i);  // card, address
  void ReleaseLease(uint32_t place);
  void WaitIdle();
  void Close();

 private:
  // A stream's completions, handed to one function of the engine.
  class Port final : public kernels::StreamSink {
   public:
    using Handler = void (Engine::*)(uint64_t token, const Status& status);
    Port(Engine* engine, Handler handler) : engine_(engine), handler_(handler) {}
    void StreamReached(uint64_t token, const Status& status) override {
      (engine_->*handler_)(token, status);
    }

   private:
    Engine* engine_;
    Handler handler_;
  };
  struct Card {
    std::unique_ptr<kernels::Device> device;
    std::unique_ptr<arena::CardArena> arena;
    std::unique_ptr<kernels::Stream> copy_in, copy_out, table, compute;
    std::vector<KernelTable> kernels;  // by layer; empty: all calls are the card's own choice
    uint64_t free_bytes = 0;           // as it was opened
    uint64_t short_bytes = 0;          // of them, what its memory turned out to lack
  };
  struct ReadRecord {
    scheduler::OpId op = 0;
    UnitIndex unit = kNoUnit;
    uint32_t extent = 0;
    scheduler::HostSlot slot;
  };
  static_assert(sizeof(ReadRecord) + sizeof(ArrivedUnit) + sizeof(io::ReadRequest) <=
                kBytesPerRead);
  struct LeasePlace {
    bool used = false;
    bool ready = false;
    scheduler::LeaseId id = 0;
    Status status;
    std::vector<UnitIndex> units;
  };

  explicit Engine(const RuntimeOptions& options);

  // Opening, in this order.
  void MakeUnitLayouts();
  Status OpenAll(const EngineHooks& hooks);
  Result<kernels::DeviceOptions> ComputeOptions(const arena::Topology& topology) const;
  Status OpenCards(const EngineHooks& hooks, const kernels::DeviceOptions& compute);
  Status OpenHostCompute(const kernels::DeviceOptions& compute);
  // What the profile says of this machine's cards.
  void ChooseKernels();
  Status MakePlan();
  Status AllocateCards();
  Status AllocateArenas();
  StepSizes PlaceSizes() const;
  Status Register(std::byte* begin, uint64_t bytes);
  Status MakePlaces();
  Status OpenReads(const EngineHooks& hooks);
  Status MakeStreams();
  void FillInfo();
  void Preload();

  // scheduler::Sink, under mutex_.
  void Read(const scheduler::ReadAction& action) override BERTH_REQUIRES(mutex_);
  void Copy(const scheduler::CopyAction& action) override BERTH_REQUIRES(mutex_);
  void Publish(const scheduler::PublishAction& action) override BERTH_REQUIRES(mutex_);
  void Compute(const scheduler::ComputeAction& action) override BERTH_REQUIRES(mutex_);
  void TicketDone(scheduler::TicketId ticket, uint64_t cookie, const Status& status) override
      BERTH_REQUIRES(mutex_);
  void LeaseReady(scheduler::LeaseId lease, uint64_t cookie, const Status& status) override
      BERTH_REQUIRES(mutex_);
  // Completions, from their threads.
  void ReadCompleted(const io::ReadResult& result) override;
  void UnitProved(const ArrivedUnit& unit, const Status& status) override;
  void CopyReached(uint64_t token, const Status& status);
  void TableReached(uint64_t token, const Status& status);
  void WaveReached(uint64_t token, const Status& status);
  void HostWaveReached(uint64_t token, const Status& status);
  void ReduceReached(uint64_t token, const Status& status);

  // An action that a stream did not take is answered with why, once the core has returned.
  void Refused(scheduler::OpKind kind, scheduler::OpId op, Status status) BERTH_REQUIRES(mutex_);
  // After every call of the core: answers what was refused, and wakes who waits for its end.
  void Settle() BERTH_REQUIRES(mutex_);
  std::byte* Address(const scheduler::CardSlot& slot);
  // Units that the core leaves in RAM are read from there by their card.
  bool in_place() const { return options_.miss == MissChoice::kInPlace; }
  // The wave as its stream takes it.
  kernels::GroupedCall CallOf(const scheduler::ComputeAction& action) BERTH_REQUIRES(mutex_);
  void EndStep(StepPlace* place, const Status& status) BERTH_REQUIRES(mutex_);
  Status CheckStep(uint32_t max_rows, const Step& step) const;
  StepPlace* Running(uint32_t session, Ticket ticket) BERTH_REQUIRES(mutex_);

  const RuntimeOptions options_;
  ModelShape shape_;
  RuntimeInfo info_;
  std::vector<std::vector<UnitTensor>> unit_layouts_;  // per layer
  std::unique_ptr<Catalog> catalog_;
  MachineProfile profile_;  // read where costs or kernels chosen by it matter
  MemoryPlan plan_;
  uint64_t available_bytes_ = 0;              // of the machine, read once
  std::vector<io::BufferRegion> registered_;  // with the cards, in this order

  // Torn down from the bottom up: streams drain before the memory they use goes.
  HostLayout host_;
  arena::HostRegion place_memory_;  // of all places
  std::vector<Card> cards_;
  std::unique_ptr<kernels::DeviceMemory> card_partials_;  // null where they are part of the places
  Port copy_port_{this, &Engine::CopyReached};
  Port table_port_{this, &Engine::TableReached};
  Port wave_port_{this, &Engine::WaveReached};
  Port host_wave_port_{this, &Engine::HostWaveReached};
  Port reduce_port_{this, &Engine::ReduceReached};

  Mutex mutex_;
  CondVar changed_;
  std::unique_ptr<scheduler::Core> core_ BERTH_GUARDED_BY(mutex_);
  std::vector<StepPlace> places_;  // states guarded by mutex_, buffers by their state
  std::vector<bool> session_open_ BERTH_GUARDED_BY(mutex_);
  std::vector<LeasePlace> leases_ BERTH_GUARDED_BY(mutex_);
  std::vector<ReadRecord> reads_ BERTH_GUARDED_BY(mutex_);
  std::vector<uint32_t> free_reads_ BERTH_GUARDED_BY(mutex_);
  std::vector<uint8_t> extents_left_ BERTH_GUARDED_BY(mutex_);  // per dense host slot
  struct Refusal {
    scheduler::OpKind kind;
    scheduler::OpId op;
    Status status;
  };
  std::vector<Refusal> refusals_ BERTH_GUARDED_BY(mutex_);
  uint32_t steps_under_way_ BERTH_GUARDED_BY(mutex_) = 0;
  uint32_t idle_waiters_ BERTH_GUARDED_BY(mutex_) = 0;
  bool closed_ BERTH_GUARDED_BY(mutex_) = false;
  ActivityClock clock_ BERTH_GUARDED_BY(mutex_);
  MovedBytes moved_ BERTH_GUARDED_BY(mutex_);

  // Computes units where they lie in RAM, where misses may go there; it has no memory of its own.
  // Partial results lie in host memory that every card reaches, wherever they may come from more
  // than one place; only a card that computes all of them keeps them in its own.
  std::unique_ptr<kernels::Device> host_device_;
  std::unique_ptr<kernels::Stream> host_compute_;
  std::unique_ptr<kernels::Stream> reduce_;
  std::unique_ptr<ChecksumWorker> checksum_worker_;
  std::unique_ptr<io::Storage> storage_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_ENGINE_H_
