// Runtime: one model, its tiers and its cards. Session: one caller.
//
//   auto runtime = berth::Runtime::Open(options);
//   auto session = (*runtime)->NewSession({});
//   auto ticket = (*session)->Enqueue(step);   // never waits for data
//   berth::Status done = (*session)->Wait(*ticket);
//
// Memory: everything is allocated by Open; after that no slab, pinned or card memory, and no
// operator new on the way of a step once a first pass has warmed it.
// Threads: a Runtime may be used from any thread; a Session by one thread at a time.
// Lifetime: sessions and leases must be gone before their runtime.
#ifndef BERTH_RUNTIME_H_
#define BERTH_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "berth/options.h"
#include "berth/stats.h"
#include "berth/status.h"
#include "berth/types.h"

namespace berth {

class Engine;
class Session;

// One matrix of a unit: y[rows] = W[rows][cols] x[cols], quantized, row after row.
struct UnitTensor {
  TensorRole role = TensorRole::kGate;  // of a fused gate_up tensor, two of these: gate and up
  TensorType type = TensorType::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint64_t row_bytes = 0;
  uint64_t offset = 0;  // of row 0, from the unit's address on a card
};

// What the model is, for callers that build steps.
struct ModelShape {
  uint32_t layers = 0;  // MoE layers, in trace order
  uint32_t experts = 0;
  uint32_t top_k = 0;
  uint32_t hidden = 0;
  std::vector<uint32_t> blocks;      // block number of each layer
  std::vector<uint64_t> unit_bytes;  // quantized bytes of a unit of each layer
};

// One MoE layer of one forward pass.
struct Step {
  uint32_t layer = 0;
  uint32_t rows = 0;  // 1 .. max_rows
  // Inputs [rows][hidden] in host memory, x_stride elements apart (0: hidden), aligned to their
  // element. Read before Enqueue returns. A row that is routed to somebody and not finite fails the
  // step.
  const void* x = nullptr;
  DataType x_type = DataType::kF32;
  size_t x_stride = 0;
  // Routing [rows][top_k]; kNoExpert routes to nobody. Read before Enqueue returns.
  const int32_t* ids = nullptr;
  const float* weights = nullptr;
  // Outputs [rows][hidden], aligned as x; written before the ticket is done, not to be touched
  // until then. On a failed ticket its contents are unspecified.
  void* y = nullptr;
  DataType y_type = DataType::kF32;
  size_t y_stride = 0;
  // Number of the forward pass: the clock of the policies. A number below the largest that any
  // session gave counts as the largest.
  uint64_t pass = 0;
};

struct Ticket {
  uint32_t place = 0;
  uint32_t generation = 0;
};

// Keeps units in card memory while an engine's own kernels use them. Move-only; the destructor
// gives the units back. Used by one thread at a time. A runtime holds at most 64 leases of at most
// 512 units each, of which 1,024 units may be on their way at once, and of each pool of slots 3 x
// top-k always stay unpinned: a pool of that size gives no lease. One that is released before it is
// ready counts until it would have been.
class Lease {
 public:
  Lease() = default;
  ~Lease();
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;

  bool held() const { return engine_ != nullptr; }
  // Blocks until all units are in place. DataLoss or Unavailable where one cannot be read; the
  // lease is void then.
  Status Wait();
  // Address of the i-th unit in the memory of its card, and which card that is; after Wait. Its
  // tensors lie there as Runtime::unit_layout says.
  const std::byte* address(size_t i) const;
  uint32_t card(size_t i) const;
  void Release();

 private:
  friend class Session;
  Engine* engine_ = nullptr;
  uint32_t place_ = 0;
};

struct SessionOptions {
  uint32_t max_rows = 0;  // 0: the runtime's
};

class Session {
 public:
  ~Session();  // waits for its steps
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Decides the step and sets it going. Never waits for data. OutOfRange or InvalidArgument for a
  // request that is wrong; ResourceExhausted when max_in_flight steps are not done yet.
  Result<Ticket> Enqueue(const Step& step);
  // True once the step is done; *status then says how, and the ticket is spent.
  bool Poll(Ticket ticket, Status* status);
  // Blocks until the step is done. The ticket is spent.
  Status Wait(Ticket ticket);
  // Loads experts of a layer ahead of their use; what cannot be had without harm is dropped.
  Status Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass);
  // Pins units on their cards. ResourceExhausted where fewer than 3 x top-k slots would be left.
  Result<Lease> Acquire(std::span<const UnitRef> units);

 private:
  friend class Runtime;
  Session(Engine* engine, uint32_t index, uint32_t max_rows)
      : engine_(engine), index_(index), max_rows_(max_rows) {}
  Engine* engine_;
  uint32_t index_;
  uint32_t max_rows_;
};

class Runtime {
 public:
  // Opens the model, checks every size against the machine, allocates everything, proves the
  // storage path with a read, and preloads where that was asked for. On an error nothing stays
  // allocated.
  static Result<std::unique_ptr<Runtime>> Open(const RuntimeOptions& options);
  explicit Runtime(std::unique_ptr<Engine> engine);  // of Open
  ~Runtime();                                        // closes
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // What a model is, from its headers alone; nothing is allocated for serving it.
  static Result<ModelShape> Inspect(const RuntimeOptions& options);

  const ModelShape& shape() const;
  // The tensors of every unit of a layer, in order of their offsets.
  std::span<const UnitTensor> unit_layout(uint32_t layer) const;
  const RuntimeInfo& info() const;
  // A consistent reading; takes a lock for a moment.
  Stats stats() const;
  // What the policies learned of each unit, as RuntimeOptions::heat takes it. Not for the way of a
  // step: takes the lock while every unit is asked for.
  void Learned(std::vector<double>* heat) const;
  // ResourceExhausted when max_sessions are open.
  Result<std::unique_ptr<Session>> NewSession(const SessionOptions& options = {});
  // Blocks until nothing is under way any more, hinted units among it.
  void WaitIdle();
  // Cancels what has not begun, drains what has; further calls fail. Idempotent.
  void Close();

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_H_
