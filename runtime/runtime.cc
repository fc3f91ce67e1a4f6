// The public classes, each a handle on the engine.
#include "berth/runtime.h"

#include <utility>

#include "runtime/engine/engine.h"

namespace berth {

Result<std::unique_ptr<Runtime>> Runtime::Open(const RuntimeOptions& options) {
  BERTH_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Open(options, EngineHooks()));
  return std::make_unique<Runtime>(std::move(engine));
}

Runtime::Runtime(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Runtime::~Runtime() = default;

Result<ModelShape> Runtime::Inspect(const RuntimeOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Catalog> catalog, Engine::ReadModel(options));
  return Engine::ShapeOf(*catalog);
}

std::span<const UnitTensor> Runtime::unit_layout(uint32_t layer) const {
  return engine_->unit_layout(layer);
}
const ModelShape& Runtime::shape() const { return engine_->shape(); }
const RuntimeInfo& Runtime::info() const { return engine_->info(); }
Stats Runtime::stats() const { return engine_->stats(); }
void Runtime::Learned(std::vector<double>* heat) const { engine_->Learned(heat); }
void Runtime::WaitIdle() { engine_->WaitIdle(); }
void Runtime::Close() { engine_->Close(); }

Result<std::unique_ptr<Session>> Runtime::NewSession(const SessionOptions& options) {
  BERTH_ASSIGN_OR_RETURN(const uint32_t index, engine_->OpenSession());
  const uint32_t max_rows = engine_->max_rows();
  if (options.max_rows > max_rows) {
    engine_->CloseSession(index);
    return InvalidArgumentError(
        "a session of " + std::to_string(options.max_rows) +
        " rows: the runtime was opened for max_rows = " + std::to_string(max_rows));
  }
  return std::unique_ptr<Session>(
      new Session(engine_.get(), index, options.max_rows == 0 ? max_rows : options.max_rows));
}

Session::~Session() { engine_->CloseSession(index_); }

Result<Ticket> Session::Enqueue(const Step& step) {
  return engine_->Enqueue(index_, max_rows_, step);
}
bool Session::Poll(Ticket ticket, Status* status) { return engine_->Poll(index_, ticket, status); }
Status Session::Wait(Ticket ticket) { return engine_->Wait(index_, ticket); }

Status Session::Hint(uint32_t layer, std::span<const int32_t> experts, uint64_t pass) {
  return engine_->Hint(layer, experts, pass);
}

Result<Lease> Session::Acquire(std::span<const UnitRef> units) {
  Lease lease;
  BERTH_ASSIGN_OR_RETURN(lease.place_, engine_->Acquire(units));
  lease.engine_ = engine_;
  return lease;
}

Lease::~Lease() { Release(); }
Lease::Lease(Lease&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), place_(other.place_) {}
Lease& Lease::operator=(Lease&& other) noexcept {
  Release();
  engine_ = std::exchange(other.engine_, nullptr);
  place_ = other.place_;
  return *this;
}

Status Lease::Wait() {
  if (engine_ == nullptr) return FailedPreconditionError("an empty lease");
  return engine_->WaitLease(place_);
}
const std::byte* Lease::address(size_t i) const {
  return engine_ == nullptr ? nullptr : engine_->LeasedUnit(place_, i).second;
}
uint32_t Lease::card(size_t i) const {
  return engine_ == nullptr ? 0 : engine_->LeasedUnit(place_, i).first;
}
void Lease::Release() {
  if (engine_ != nullptr) std::exchange(engine_, nullptr)->ReleaseLease(place_);
}

}  // namespace berth
