// What goes wrong around a session, and what must stay right: other steps, other sessions, the
// process.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <thread>
#include <type_traits>
#include <vector>

#include "runtime/catalog/catalog.h"
#include "tests/runtime/session_work.h"
#include "tests/runtime/small_model.h"

namespace berth::testing {
namespace {

constexpr uint32_t kWorks = 24;

uint64_t Minimum() { return SmallModel::Get().minimum_arena; }

// A lasting I/O error on the down tensor of one unit, for the first `times` reads that meet it.
// Reads of other units do not: their heads begin less than a page before them.
io::FaultPlan Unreadable(UnitRef ref, uint32_t times) {
  const auto catalog = Catalog::Open(SmallModel::Get().gguf);
  EXPECT_TRUE(catalog.ok());
  const Extent extent = (*catalog)->extents((*catalog)->unit(ref)).back();
  io::FaultPlan plan;
  plan.ranges.push_back({io::Fault::kIoErrorStays, extent.file, extent.offset,
                         extent.offset + extent.bytes - 4096, times});
  return plan;
}

Status RunOne(Session* session, Work* work) {
  const Result<Ticket> ticket = session->Enqueue(work->Prepare());
  return ticket.ok() ? session->Wait(*ticket) : ticket.status();
}

TEST(SessionError, OnlyStepsThatNeedTheUnitFail) {
  const UnitRef bad{1, Work(5).layer == 1 ? static_cast<uint32_t>(Work(5).ids[0]) : 0};
  const auto& expected = ExpectedOutputs(kWorks);
  const auto runtime =
      OpenRuntime(SessionOptionsOf(SmallModel::Get().gguf, Minimum()), Faulty(Unreadable(bad, 0)));
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  uint32_t failed = 0;
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < kWorks; ++i) {
      Work work(i);
      const Status done = RunOne(session->get(), &work);
      if (!work.Uses(bad)) {
        EXPECT_TRUE(done.ok()) << done.ToString();
        EXPECT_EQ(work.y, expected[i]);
        continue;
      }
      ++failed;
      EXPECT_EQ(done.code(), StatusCode::kUnavailable);
      for (const std::string& part :
           {SmallModel::Get().gguf, std::string("offset "),
            "blk.2 expert " + std::to_string(bad.expert) + " ", std::string("down")}) {
        EXPECT_NE(done.message().find(part), std::string::npos) << part << ": " << done.ToString();
      }
      EXPECT_EQ(done.message().find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, kWorks);
  const Counters counters = (*runtime)->stats().counters;
  EXPECT_EQ(counters.failed_steps, failed);
  EXPECT_GT(counters.failed_reads, 0u);

  Result<Lease> lease = (*session)->Acquire({});
  EXPECT_FALSE(lease.ok());
}

TEST(SessionError, AUnitWorksAgainWhenItsFaultEnds) {
  const UnitRef bad{1, static_cast<uint32_t>(Work(5).ids[0])};
  for (const uint64_t host_tier : {uint64_t{0}, uint64_t{1} << 20}) {
    RuntimeOptions options = SessionOptionsOf(SmallModel::Get().gguf, Minimum());
    options.host_tier_bytes = host_tier;
    const auto runtime = OpenRuntime(options, Faulty(Unreadable(bad, 2)));
    ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
    const auto session = (*runtime)->NewSession();
    ASSERT_TRUE(session.ok());
    Work work(5);
    ASSERT_TRUE(work.Uses(bad));
    EXPECT_FALSE(RunOne(session->get(), &work).ok());
    EXPECT_FALSE(RunOne(session->get(), &work).ok());
    const Status third = RunOne(session->get(), &work);
    EXPECT_TRUE(third.ok()) << third.ToString();
    EXPECT_EQ(work.y, ExpectedOutputs(kWorks)[5]);
  }
}

TEST(SessionError, ALeaseOfAnUnreadableUnitSaysSo) {
  const UnitRef bad{2, 9};
  const auto runtime =
      OpenRuntime(SessionOptionsOf(SmallModel::Get().gguf, 64u << 20), Faulty(Unreadable(bad, 1)));
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  const UnitRef units[] = {{2, 8}, bad, {2, 10}};
  {
    Result<Lease> lease = (*session)->Acquire(units);
    ASSERT_TRUE(lease.ok()) << lease.status().ToString();
    const Status ready = lease->Wait();
    EXPECT_EQ(ready.code(), StatusCode::kUnavailable);
    EXPECT_NE(ready.message().find("blk.3 expert 9 "), std::string::npos) << ready.ToString();
    EXPECT_EQ(lease->address(0), nullptr);
  }
  Result<Lease> again = (*session)->Acquire(units);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(again->Wait().ok());
  EXPECT_NE(again->address(1), nullptr);
}

// The file loses its second half while sessions read it.
TEST(SessionError, AFileThatIsCutShortLosesOnlyWhatWasCut) {
  const std::string copy = SmallModel::Get().File("cut.gguf");
  for (const char* engine : {"auto", "pread", "buffered"}) {
    SCOPED_TRACE(engine);
    std::filesystem::copy_file(SmallModel::Get().gguf, copy,
                               std::filesystem::copy_options::overwrite_existing);
    const uint64_t half = std::filesystem::file_size(copy) / 2;
    const auto catalog = Catalog::Open(copy);
    ASSERT_TRUE(catalog.ok());
    const auto lost = [&](const Work& work) {
      for (int32_t id : work.ids) {
        if (id == kNoExpert) continue;
        for (const Extent& e :
             (*catalog)->extents((*catalog)->unit({work.layer, static_cast<uint32_t>(id)}))) {
          if (e.offset + e.bytes > half) return true;
        }
      }
      return false;
    };
    RuntimeOptions options = SessionOptionsOf(copy, Minimum());
    options.io_engine = engine;
    const auto runtime = OpenRuntime(options);
    ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
    const auto session = (*runtime)->NewSession();
    ASSERT_TRUE(session.ok());
    std::atomic<bool> cut{false};
    std::thread scissors([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::filesystem::resize_file(copy, half);
      cut = true;
    });
    uint32_t failed = 0;
    for (uint32_t i = 0, after = 0; after < 2 * kWorks; ++i) {
      Work work(i % kWorks);
      const bool was_cut = cut;
      const Status done = RunOne(session->get(), &work);
      if (was_cut) ++after;
      if (done.ok()) {
        EXPECT_EQ(work.y, ExpectedOutputs(kWorks)[i % kWorks]);
      } else {
        ++failed;
        EXPECT_TRUE(lost(work));
        EXPECT_EQ(done.code(), StatusCode::kDataLoss) << done.ToString();
        EXPECT_NE(done.message().find(copy), std::string::npos) << done.ToString();
      }
    }
    scissors.join();
    EXPECT_GT(failed, 0u);
  }
}

// ---- misuse

TEST(SessionMisuse, TicketsAndSessionsHaveTheirLimits) {
  RuntimeOptions options = SessionOptionsOf(SmallModel::Get().gguf, Minimum());
  options.max_sessions = 2;
  options.max_in_flight = 2;
  io::FaultPlan slow;
  slow.delay_us_max = 20'000;
  const auto runtime = OpenRuntime(options, Faulty(slow));
  ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
  EXPECT_EQ((*runtime)->NewSession({.max_rows = kWorkRows + 1}).status().code(),
            StatusCode::kInvalidArgument);
  auto first = (*runtime)->NewSession({.max_rows = 1});
  auto second = (*runtime)->NewSession();
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = (*runtime)->NewSession();
  EXPECT_EQ(third.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(third.status().message().find("max_sessions"), std::string::npos);

  Work two_rows(4);
  ASSERT_EQ(two_rows.rows, 2u);
  EXPECT_EQ((*first)->Enqueue(two_rows.Prepare()).status().code(), StatusCode::kOutOfRange);
  Work a(0), b(1), c(2);
  const auto ticket_a = (*first)->Enqueue(a.Prepare());
  const auto ticket_b = (*first)->Enqueue(b.Prepare());
  ASSERT_TRUE(ticket_a.ok() && ticket_b.ok());
  const auto too_many = (*first)->Enqueue(c.Prepare());
  EXPECT_EQ(too_many.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(too_many.status().message().find("max_in_flight"), std::string::npos);
  // Another session cannot take a ticket, spend it or learn of it.
  EXPECT_EQ((*second)->Wait(*ticket_a).code(), StatusCode::kFailedPrecondition);
  Status status;
  EXPECT_TRUE((*second)->Poll(*ticket_a, &status));
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  while (!(*first)->Poll(*ticket_a, &status)) std::this_thread::yield();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(a.y, ExpectedOutputs(kWorks)[0]);
  EXPECT_EQ((*first)->Wait(*ticket_a).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE((*first)->Wait(*ticket_b).ok());
  EXPECT_EQ((*first)->Wait(*ticket_b).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ((*first)->Wait({99, 0}).code(), StatusCode::kFailedPrecondition);

  // A place that is given back can be had again, and old tickets stay spent.
  const auto ticket_c = (*first)->Enqueue(c.Prepare());
  ASSERT_TRUE(ticket_c.ok());
  first->reset();
  EXPECT_EQ(c.y, ExpectedOutputs(kWorks)[2]);  // the destructor waited
  first = (*runtime)->NewSession();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ((*first)->Wait(*ticket_c).code(), StatusCode::kFailedPrecondition);
}

TEST(SessionMisuse, StepsThatAreWrong) {
  const auto runtime = OpenRuntime(SessionOptionsOf(SmallModel::Get().gguf, Minimum()));
  ASSERT_TRUE(runtime.ok());
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  Work work(0);
  const auto expect = [&](StatusCode code, auto change) {
    Step step = work.Prepare();
    change(&step);
    EXPECT_EQ((*session)->Enqueue(step).status().code(), code);
  };
  expect(StatusCode::kOutOfRange, [](Step* s) { s->layer = kLayers; });
  expect(StatusCode::kOutOfRange, [](Step* s) { s->rows = 0; });
  expect(StatusCode::kOutOfRange, [](Step* s) { s->rows = UINT32_MAX; });
  expect(StatusCode::kInvalidArgument, [](Step* s) { s->x = nullptr; });
  expect(StatusCode::kInvalidArgument, [](Step* s) { s->y = nullptr; });
  expect(StatusCode::kInvalidArgument, [](Step* s) { s->ids = nullptr; });
  expect(StatusCode::kInvalidArgument, [](Step* s) { s->weights = nullptr; });
  expect(StatusCode::kInvalidArgument, [](Step* s) { s->x_stride = kHidden - 1; });
  const auto shift = [](auto** pointer, uintptr_t bytes) {
    *pointer = reinterpret_cast<std::remove_reference_t<decltype(*pointer)>>(
        reinterpret_cast<uintptr_t>(*pointer) + bytes);
  };
  expect(StatusCode::kInvalidArgument, [&](Step* s) { shift(&s->x, 2); });
  expect(StatusCode::kInvalidArgument, [&](Step* s) { shift(&s->y, 2); });
  expect(StatusCode::kInvalidArgument, [&](Step* s) { shift(&s->ids, 1); });
  expect(StatusCode::kInvalidArgument, [&](Step* s) { shift(&s->weights, 3); });
  expect(StatusCode::kInvalidArgument, [&](Step* s) {
    s->y_type = DataType::kBF16;
    shift(&s->y, 1);
  });
  for (const int32_t id : {static_cast<int32_t>(kExperts), -2, INT32_MIN, INT32_MAX}) {
    work.ids[2] = id;
    expect(StatusCode::kOutOfRange, [](Step*) {});
  }
  // None of them took a place, and the session goes on.
  work = Work(0);
  EXPECT_TRUE(RunOne(session->get(), &work).ok());
  EXPECT_EQ(work.y, ExpectedOutputs(kWorks)[0]);
  EXPECT_EQ((*runtime)->stats().counters.steps, 1u);

  // Nobody is asked: the output is zero.
  std::fill(work.ids.begin(), work.ids.end(), kNoExpert);
  EXPECT_TRUE(RunOne(session->get(), &work).ok());
  EXPECT_EQ(work.y, std::vector<float>(work.y.size(), 0.0f));
}

TEST(SessionClose, WithStepsUnderWayEndsThemAll) {
  ExpectedOutputs(kWorks);
  for (uint32_t round = 0; round < 12; ++round) {
    RuntimeOptions options = SessionOptionsOf(SmallModel::Get().pack, Minimum());
    options.max_sessions = 2;
    options.host_tier_bytes = round % 2 == 0 ? 600'000 : 0;
    io::FaultPlan slow;
    slow.seed = round;
    slow.delay_us_max = 3000;
    slow.hold_back = 4;
    const auto runtime = OpenRuntime(options, Faulty(slow));
    ASSERT_TRUE(runtime.ok()) << runtime.status().ToString();
    const auto call = [&](uint32_t caller) {
      const auto session = (*runtime)->NewSession();
      if (!session.ok()) return;
      for (uint32_t i = 0;; ++i) {
        Work a((i + caller) % kWorks), b((i + caller + 7) % kWorks);
        const auto ticket = (*session)->Enqueue(a.Prepare());
        (void)(*session)->Hint(b.layer, b.ids, 0);
        const UnitRef unit{b.layer, 0};
        const auto lease = (*session)->Acquire({&unit, 1});
        if (!ticket.ok()) {
          EXPECT_EQ(ticket.status().code(), StatusCode::kFailedPrecondition);
          return;
        }
        const auto other = (*session)->Enqueue(b.Prepare());
        const Status done = (*session)->Wait(*ticket);
        if (done.ok()) {
          EXPECT_EQ(a.y, ExpectedOutputs(kWorks)[(i + caller) % kWorks]);
        } else {
          EXPECT_EQ(done.code(), StatusCode::kCancelled) << done.ToString();
        }
        if (other.ok()) (void)(*session)->Wait(*other);
      }
    };
    std::thread first(call, 0), second(call, 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 6));
    std::thread closer([&] { (*runtime)->Close(); });
    (*runtime)->Close();
    closer.join();
    first.join();
    second.join();
    EXPECT_EQ((*runtime)->NewSession().status().code(), StatusCode::kFailedPrecondition);
    (*runtime)->Close();
  }
}

TEST(SessionClose, CallsAfterItFail) {
  const auto runtime = OpenRuntime(SessionOptionsOf(SmallModel::Get().gguf, 64u << 20));
  ASSERT_TRUE(runtime.ok());
  const auto session = (*runtime)->NewSession();
  ASSERT_TRUE(session.ok());
  Work work(0);
  const auto ticket = (*session)->Enqueue(work.Prepare());
  const UnitRef unit{0, 0};
  Result<Lease> lease = (*session)->Acquire({&unit, 1});
  ASSERT_TRUE(ticket.ok() && lease.ok());
  (*runtime)->Close();
  const Status done = (*session)->Wait(*ticket);
  EXPECT_TRUE(done.ok() || done.code() == StatusCode::kCancelled) << done.ToString();
  const Status ready = lease->Wait();
  EXPECT_TRUE(ready.ok() || ready.code() == StatusCode::kCancelled) << ready.ToString();
  const auto closed = StatusCode::kFailedPrecondition;
  EXPECT_EQ((*session)->Enqueue(work.Prepare()).status().code(), closed);
  EXPECT_EQ((*session)->Hint(0, work.ids, 0).code(), closed);
  EXPECT_EQ((*session)->Acquire({&unit, 1}).status().code(), closed);
  EXPECT_EQ((*runtime)->stats().counters.steps, 1u);
}

// ---- opening

void ExpectRefused(const RuntimeOptions& options, StatusCode code, const std::string& part,
                   const EngineHooks& hooks = EngineHooks()) {
  const auto start = std::chrono::steady_clock::now();
  const auto runtime = OpenRuntime(options, hooks);
  ASSERT_FALSE(runtime.ok()) << part;
  EXPECT_EQ(runtime.status().code(), code) << runtime.status().ToString();
  EXPECT_NE(runtime.status().message().find(part), std::string::npos)
      << runtime.status().ToString();
  EXPECT_EQ(runtime.status().message().find('\n'), std::string::npos);
  // Touching what was asked for would take longer than that.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(RuntimeOpen, RefusesBeforeItAllocates) {
  const RuntimeOptions good = SessionOptionsOf(SmallModel::Get().gguf, 64u << 20);
  const auto changed = [&](auto change) {
    RuntimeOptions options = good;
    change(&options);
    return options;
  };
  using O = RuntimeOptions;
  const auto invalid = StatusCode::kInvalidArgument;
  const auto exhausted = StatusCode::kResourceExhausted;
  ExpectRefused(changed([](O* o) { o->cards[0].arena_bytes = 1; }), invalid, "raise --arena");
  ExpectRefused(changed([](O* o) { o->ring_units = 2'000'000'000; }), exhausted, "lower --ring");
  ExpectRefused(changed([](O* o) { o->max_rows = 1u << 30; }), exhausted, "max_rows");
  ExpectRefused(changed([](O* o) { o->cards[0].memory_bytes = 4096; }), exhausted, "host:0");
  ExpectRefused(changed([](O* o) { o->max_sessions = o->max_in_flight = 65536; }), invalid,
                "max_in_flight");
  ExpectRefused(changed([](O* o) { o->max_sessions = 65537, o->max_in_flight = 65536; }), invalid,
                "max_in_flight");
  ExpectRefused(changed([](O* o) { o->staging_bytes = 1; }), invalid, "staging");
  ExpectRefused(changed([](O* o) { o->chunk = 0; }), invalid, "--chunk");
  ExpectRefused(changed([](O* o) { o->max_in_flight = 0; }), invalid, "max_in_flight");
  ExpectRefused(changed([](O* o) { o->cards.clear(); }), invalid, "--device");
  ExpectRefused(changed([](O* o) { o->cards.push_back(o->cards[0]); }), invalid, "given twice");
  ExpectRefused(changed([](O* o) { o->cards[0].device = "hots:0"; }), StatusCode::kNotFound,
                "hots");
  ExpectRefused(changed([](O* o) { o->policy = "lrv"; }), invalid, "did you mean 'lru'");
  ExpectRefused(changed([](O* o) {
                  o->host_policy = "x";
                  o->host_tier_bytes = 1 << 20;
                }),
                invalid, "policy");
  ExpectRefused(changed([](O* o) { o->io_engine = "telepathy"; }), invalid, "telepathy");
  ExpectRefused(changed([](O* o) { o->model = "/nowhere.gguf"; }), StatusCode::kNotFound,
                "/nowhere.gguf");
  // The largest chunk is clamped, and works.
  const auto clamped = OpenRuntime(changed([](O* o) { o->chunk = UINT32_MAX; }));
  EXPECT_TRUE(clamped.ok()) << clamped.status().ToString();
}

TEST(RuntimeOpen, SurvivesAStorageThatDoesNotOpen) {
  EngineHooks hooks;
  hooks.open_storage = [](const io::StorageOptions&) -> Result<std::unique_ptr<io::Storage>> {
    return UnavailableError("the drive is gone");
  };
  ExpectRefused(SessionOptionsOf(SmallModel::Get().gguf, 64u << 20), StatusCode::kUnavailable,
                "the drive is gone", hooks);
  ExpectRefused(SessionOptionsOf(SmallModel::Get().pack, 64u << 20), StatusCode::kUnavailable,
                "the drive is gone", hooks);
}

}  // namespace
}  // namespace berth::testing
