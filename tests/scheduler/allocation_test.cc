// The core allocates when it is made, and never again while callers keep their promises.
#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

#include "scheduler/core.h"
#include "tests/new_counter.h"
#include "tests/scheduler/scenario.h"

namespace berth::scheduler {
namespace {

// Answers in random order out of arrays that exist from the start.
class QuietSink final : public Sink {
 public:
  explicit QuietSink(uint64_t seed) : rng_(seed) { pending_.reserve(1 << 16); }
  void Open(Core* core) { core_ = core; }
  void Read(const ReadAction& a) override { pending_.push_back({0, a.op, a.extent}); }
  void Copy(const CopyAction& a) override { pending_.push_back({1, a.op, 0}); }
  void Publish(const PublishAction& a) override { pending_.push_back({2, a.op, 0}); }
  void Compute(const ComputeAction& a) override { pending_.push_back({3, a.op, 0}); }
  void TicketDone(TicketId, uint64_t, const Status& status) override {
    ok_ &= status.ok();
    ++tickets_done_;
  }
  void LeaseReady(LeaseId, uint64_t, const Status& status) override { ok_ &= status.ok(); }
  bool ok() const { return ok_; }
  uint64_t tickets_done() const { return tickets_done_; }

  bool Answer() {
    if (pending_.empty()) return false;
    const size_t at = rng_() % pending_.size();
    const Pending p = pending_[at];
    pending_[at] = pending_.back();
    pending_.pop_back();
    if (p.what == 0) core_->ReadDone(p.op, p.extent, Status());
    if (p.what == 1) core_->CopyDone(p.op, Status());
    if (p.what == 2) core_->PublishDone(p.op, Status());
    if (p.what == 3) core_->ComputeDone(p.op, Status());
    return true;
  }

 private:
  struct Pending {
    int what;
    OpId op;
    uint32_t extent;
  };
  std::mt19937_64 rng_;
  std::vector<Pending> pending_;
  Core* core_ = nullptr;
  bool ok_ = true;
  uint64_t tickets_done_ = 0;
};

void CountAllocations(const char* policy, bool exclusive) {
  CoreOptions o = SmallMachine(6, 64, 4, 80);
  o.policy = policy;
  o.host_policy = policy;
  o.max_tickets = 4;
  o.max_rows = 16;
  o.sweep_rows = 8;
  o.max_prefetch_units = 8;
  o.max_leases = 4;
  o.max_lease_units = 8;
  o.host_class_slots = {100};
  o.host_exclusive = exclusive;
  QuietSink sink(3);
  auto made = Core::Create(o, &sink);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  Core& core = **made;
  sink.Open(&core);
  std::mt19937_64 rng(7);
  std::vector<int32_t> ids(o.max_rows * 4);
  std::vector<UnitIndex> units(8);
  LeaseId lease = 0;
  bool leased = false;
  bool all_taken = true;
  uint64_t before = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    if (i == 200) before = NewCalls();
    // As many steps under way as were promised.
    while (i - sink.tickets_done() >= o.max_tickets && sink.Answer()) {
    }
    const uint32_t rows = rng() % 20 == 0 ? 16 : 1 + rng() % 2;
    for (size_t k = 0; k < rows * 4; ++k) {
      ids[k] = static_cast<int32_t>((rng() % 64) * (rng() % 64) / 64);
    }
    StepSpec step;
    step.layer = i % 6;
    step.rows = rows;
    step.ids = {ids.data(), rows * 4};
    step.pass = i / 6;
    all_taken &= core.SubmitStep(step).ok();
    if (i % 3 == 0) {
      all_taken &= core.SubmitHint((i + 1) % 6, std::span(ids).first(4), step.pass).ok();
    }
    if (i % 50 == 0) {
      for (size_t u = 0; u < units.size(); ++u) units[u] = static_cast<UnitIndex>(i % 300 + u);
      const auto taken = core.SubmitLease(units, 0);
      all_taken &= taken.ok();
      if (leased) all_taken &= core.ReleaseLease(lease).ok();
      leased = taken.ok();
      if (leased) lease = *taken;
    }
    for (uint64_t n = rng() % 8; n > 0 && sink.Answer(); --n) {
    }
  }
  while (sink.Answer()) {
  }
  EXPECT_EQ(NewCalls(), before);
  EXPECT_TRUE(all_taken && sink.ok() && core.idle());
  EXPECT_GT(core.counters().cards[0].evicted, 10000u);  // there was something to do
}

TEST(CoreAllocationTest, NoneAfterWarmUp) {
  for (const char* policy : {"lru", "lfu", "heat"}) {
    SCOPED_TRACE(policy);
    CountAllocations(policy, false);
    CountAllocations(policy, true);
  }
}

TEST(CoreAllocationTest, TheCountSeesAllocations) {
  const uint64_t before = NewCalls();
  std::vector<int> one(100);
  EXPECT_GT(NewCalls(), before);
  EXPECT_EQ(one.size(), 100u);
}

}  // namespace
}  // namespace berth::scheduler
