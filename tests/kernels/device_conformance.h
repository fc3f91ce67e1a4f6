// What every backend promises (kernels/device.h), as one suite. A backend's own test file
// includes this, and instantiates DeviceConformance with a way to open a card.
#ifndef BERTH_TESTS_KERNELS_DEVICE_CONFORMANCE_H_
#define BERTH_TESTS_KERNELS_DEVICE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/device.h"
#include "tests/kernels/device_fixture.h"
#include "tests/new_counter.h"

namespace berth::kernels {

TEST_P(DeviceConformance, CopiesBothWaysWhateverTheSize) {
  std::unique_ptr<Stream> stream = MakeStream("copies");
  for (size_t bytes : {size_t{1}, size_t{3}, size_t{255}, size_t{4097}, size_t{1000003}}) {
    std::unique_ptr<DeviceMemory> card = Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(card->data()) % 256, 0u);
    EXPECT_EQ(card->bytes(), bytes);
    const std::span<std::byte> from = OnHost(Noise(bytes, bytes));
    const std::span<std::byte> back = Host(bytes + 2, std::byte{0x5A});
    ASSERT_TRUE(stream->Copy(CopyDirection::kToCard, One(from.data(), card->data(), bytes)).ok());
    ASSERT_TRUE(
        stream->Copy(CopyDirection::kToHost, One(card->data(), back.data() + 1, bytes)).ok());
    ASSERT_TRUE(stream->Synchronize().ok());
    EXPECT_EQ(std::memcmp(back.data() + 1, from.data(), bytes), 0);
    EXPECT_EQ(back.front(), std::byte{0x5A});
    EXPECT_EQ(back.back(), std::byte{0x5A});
  }
}

TEST_P(DeviceConformance, OneCopyTakesSeveralSegments) {
  std::unique_ptr<Stream> stream = MakeStream("segments");
  std::unique_ptr<DeviceMemory> card = Allocate(4096);
  const std::span<std::byte> from = OnHost(Noise(4096, 1));
  // Lengths and places that have nothing to do with each other, one of them empty.
  const CopySegment parts[kMaxCopySegments] = {{from.data() + 7, card->data() + 1024, 701},
                                               {from.data() + 800, card->data(), 1023},
                                               {from.data(), card->data() + 1, 0},
                                               {from.data() + 3001, card->data() + 2048, 1095}};
  ASSERT_TRUE(stream->Copy(CopyDirection::kToCard, parts).ok());
  const std::span<std::byte> back = Host<std::byte>(4096);
  ASSERT_TRUE(stream->Copy(CopyDirection::kToHost, One(card->data(), back.data(), 4096)).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  for (const CopySegment& part : parts) {
    EXPECT_EQ(std::memcmp(back.data() + (part.to - card->data()), part.from, part.bytes), 0);
  }
  const std::vector<CopySegment> too_many(kMaxCopySegments + 1, parts[0]);
  EXPECT_EQ(stream->Copy(CopyDirection::kToCard, too_many).code(), StatusCode::kInvalidArgument);
}

TEST_P(DeviceConformance, ACopyMustEndInMemoryOfTheCard) {
  std::unique_ptr<Stream> stream = MakeStream("bounds");
  std::unique_ptr<DeviceMemory> card = Allocate(512);
  const std::span<std::byte> host = Host<std::byte>(1024);
  const auto code = [&](CopyDirection direction, const std::byte* from, std::byte* to, size_t n) {
    return stream->Copy(direction, One(from, to, n)).code();
  };
  EXPECT_EQ(code(CopyDirection::kToCard, host.data(), host.data() + 512, 512),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(CopyDirection::kToHost, host.data(), host.data() + 512, 512),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(CopyDirection::kToCard, host.data(), card->data() + 1, 512),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(CopyDirection::kToCard, host.data(), card->data() + 1, 511), StatusCode::kOk);
  EXPECT_TRUE(stream->Synchronize().ok());
  if (device_->info().host_memory == HostMemory::kAny) return;
  std::vector<std::byte> elsewhere(512);
  EXPECT_EQ(code(CopyDirection::kToCard, elsewhere.data(), card->data(), 512),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(CopyDirection::kToHost, card->data(), elsewhere.data(), 512),
            StatusCode::kInvalidArgument);
}

TEST_P(DeviceConformance, AStreamDoesItsWorkInOrder) {
  std::unique_ptr<Stream> stream = MakeStream("order");
  constexpr size_t kBytes = 64 << 10;
  constexpr int kRounds = 32;
  std::unique_ptr<DeviceMemory> card = Allocate(kBytes);
  std::vector<std::span<std::byte>> in(kRounds), out(kRounds);
  // The same card bytes are written and read back over and over: any overtaking mixes rounds.
  for (int i = 0; i < kRounds; ++i) {
    in[i] = Host(kBytes, static_cast<std::byte>(i + 1));
    out[i] = Host<std::byte>(kBytes);
    ASSERT_TRUE(stream->Copy(CopyDirection::kToCard, One(in[i].data(), card->data(), kBytes)).ok());
    ASSERT_TRUE(
        stream->Copy(CopyDirection::kToHost, One(card->data(), out[i].data(), kBytes)).ok());
  }
  ASSERT_TRUE(stream->Synchronize().ok());
  for (int i = 0; i < kRounds; ++i) EXPECT_TRUE(Same(out[i], in[i])) << i;
}

TEST_P(DeviceConformance, AnEventOrdersTwoStreams) {
  std::unique_ptr<Stream> writer = MakeStream("writer");
  std::unique_ptr<Stream> reader = MakeStream("reader");
  std::unique_ptr<Event> written = MakeEvent();
  std::unique_ptr<Event> read = MakeEvent();
  constexpr size_t kBytes = 256 << 10;
  std::unique_ptr<DeviceMemory> card = Allocate(kBytes);
  constexpr int kRounds = 24;
  std::vector<std::span<std::byte>> in(kRounds), out(kRounds);
  for (int i = 0; i < kRounds; ++i) {
    in[i] = Host(kBytes, static_cast<std::byte>(i + 1));
    out[i] = Host<std::byte>(kBytes);
    // Before the first round `read` was never recorded: that Wait must not block.
    ASSERT_TRUE(writer->Wait(read.get()).ok());
    ASSERT_TRUE(writer->Copy(CopyDirection::kToCard, One(in[i].data(), card->data(), kBytes)).ok());
    ASSERT_TRUE(writer->Record(written.get()).ok());
    ASSERT_TRUE(reader->Wait(written.get()).ok());
    ASSERT_TRUE(
        reader->Copy(CopyDirection::kToHost, One(card->data(), out[i].data(), kBytes)).ok());
    ASSERT_TRUE(reader->Record(read.get()).ok());
  }
  // Enqueued waits do not need the event itself any more.
  written.reset();
  read.reset();
  ASSERT_TRUE(reader->Synchronize().ok());
  ASSERT_TRUE(writer->Synchronize().ok());
  for (int i = 0; i < kRounds; ++i) EXPECT_TRUE(Same(out[i], in[i])) << i;
}

TEST_P(DeviceConformance, AWaitIsForTheRecordBeforeItNotTheOneAfter) {
  Gate gate;
  std::unique_ptr<Stream> early = MakeStream("early");
  std::unique_ptr<Stream> late = MakeStream("late", &gate);
  std::unique_ptr<Stream> waiter = MakeStream("waiter");
  std::unique_ptr<Event> event = MakeEvent();
  ASSERT_TRUE(early->Record(event.get()).ok());
  ASSERT_TRUE(waiter->Wait(event.get()).ok());
  ASSERT_TRUE(late->Notify(0).ok());  // held up by the gate
  ASSERT_TRUE(late->Record(event.get()).ok());
  EXPECT_TRUE(waiter->Synchronize().ok());  // would hang if it waited for `late`
  // A wait after the second record is for that one.
  ASSERT_TRUE(waiter->Wait(event.get()).ok());
  Collector done;
  std::unique_ptr<Stream> other = MakeStream("other", &done);
  ASSERT_TRUE(other->Wait(event.get()).ok());
  ASSERT_TRUE(other->Notify(1).ok());
  EXPECT_FALSE(done.WaitForCount(1, std::chrono::milliseconds(30)));
  gate.Open();
  EXPECT_TRUE(done.WaitForCount(1));
  EXPECT_TRUE(waiter->Synchronize().ok());
}

TEST_P(DeviceConformance, NotifiesComeInOrderAfterTheWorkBeforeThem) {
  Collector sink;
  std::unique_ptr<Stream> stream = MakeStream("notify", &sink);
  std::unique_ptr<DeviceMemory> card = Allocate(100);
  const std::span<std::byte> from = Host<std::byte>(100);
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(stream->Copy(CopyDirection::kToCard, One(from.data(), card->data(), 100)).ok());
    ASSERT_TRUE(stream->Notify(1000 + i).ok());
  }
  ASSERT_TRUE(stream->Synchronize().ok());
  const std::vector<Collector::Reached> reached = sink.all();
  ASSERT_EQ(reached.size(), 50u);
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(reached[i].token, 1000 + i);
    EXPECT_TRUE(reached[i].status.ok());
  }
  std::unique_ptr<Stream> silent = MakeStream("silent");
  EXPECT_EQ(silent->Notify(1).code(), StatusCode::kFailedPrecondition);
}

TEST_P(DeviceConformance, ASinkMayEnqueueEvenIntoAFullQueue) {
  // Each notify enqueues the next; the queue has one place, which the notify itself had taken.
  struct Relay final : StreamSink {
    void StreamReached(uint64_t token, const Status& status) override {
      if (!status.ok()) ++failed;
      if (stream->Synchronize().code() != StatusCode::kFailedPrecondition) ++failed;
      if (token > 0 && !stream->Notify(token - 1).ok()) ++failed;
      if (token == 0) done.Open();
    }
    Stream* stream = nullptr;
    std::atomic<int> failed = 0;
    Gate done;
  } relay;
  std::unique_ptr<Stream> stream = MakeStream("relay", &relay, 1);
  relay.stream = stream.get();
  ASSERT_TRUE(stream->Notify(100).ok());
  relay.done.Await();
  stream.reset();
  EXPECT_EQ(relay.failed, 0);
}

TEST_P(DeviceConformance, AFullQueueSaysSoAndLosesNothing) {
  Gate gate;
  std::unique_ptr<Stream> stream = MakeStream("full", &gate, 4);
  std::unique_ptr<DeviceMemory> card = Allocate(4);
  ASSERT_TRUE(stream->Notify(7).ok());
  gate.AwaitArrival();  // the sink holds the stream, or not; its place is free again
  const std::span<std::byte> from = OnHost(Noise(4, 3));
  Status full;
  // One that is not held takes entries as fast as its driver does; that is slower than this.
  const int most = GetParam().sink_holds_stream ? 5 : 1'000'000;
  int taken = 0;
  for (; taken < most && full.ok(); ++taken) {
    const size_t i = taken % 4;
    full = stream->Copy(CopyDirection::kToCard, One(&from[i], card->data() + i, 1));
  }
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full.ToString();
  EXPECT_GE(taken, 5);
  gate.Open();
  ASSERT_TRUE(stream->Synchronize().ok());
  const std::span<std::byte> back = Host<std::byte>(4);
  ASSERT_TRUE(stream->Copy(CopyDirection::kToHost, One(card->data(), back.data(), 4)).ok());
  ASSERT_TRUE(stream->Synchronize().ok());
  EXPECT_TRUE(Same(back, from));
}

TEST_P(DeviceConformance, DestroyingAStreamFinishesItsWork) {
  constexpr size_t kBytes = 1 << 20;
  std::unique_ptr<DeviceMemory> card = Allocate(kBytes);
  const std::span<std::byte> from = OnHost(Noise(kBytes, 9));
  const std::span<std::byte> back = Host<std::byte>(kBytes);
  Collector sink;
  std::unique_ptr<Event> event = MakeEvent();
  std::unique_ptr<Stream> other = MakeStream("other");
  {
    std::unique_ptr<Stream> stream = MakeStream("short", &sink);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(
          stream->Copy(CopyDirection::kToCard, One(from.data(), card->data(), kBytes)).ok());
    }
    ASSERT_TRUE(stream->Copy(CopyDirection::kToHost, One(card->data(), back.data(), kBytes)).ok());
    ASSERT_TRUE(stream->Notify(1).ok());
    ASSERT_TRUE(stream->Record(event.get()).ok());
    ASSERT_TRUE(other->Wait(event.get()).ok());
  }
  EXPECT_TRUE(Same(back, from));
  EXPECT_EQ(sink.all().size(), 1u);
  EXPECT_TRUE(other->Wait(event.get()).ok());  // of a stream that is gone
  EXPECT_TRUE(other->Synchronize().ok());
}

TEST_P(DeviceConformance, CallsMayComeFromAnyThread) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 100;
  Collector sink;
  std::unique_ptr<Stream> shared = MakeStream("shared", &sink, 4 * kThreads * kRounds);
  std::unique_ptr<Stream> behind = MakeStream("behind", nullptr, 4 * kThreads * kRounds);
  std::unique_ptr<Event> event = MakeEvent();
  std::unique_ptr<DeviceMemory> card = Allocate(kThreads * kRounds * 64);
  std::vector<std::span<std::byte>> from(kThreads), back(kThreads);
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    from[t] = OnHost(Noise(64, t));
    back[t] = Host<std::byte>(64);
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        std::byte* mine = card->data() + (t * kRounds + i) * 64;
        bool ok = shared->Copy(CopyDirection::kToCard, One(from[t].data(), mine, 64)).ok();
        ok &= shared->Notify(t).ok();
        ok &= shared->Record(event.get()).ok();
        ok &= behind->Wait(event.get()).ok();
        ok &= behind->Copy(CopyDirection::kToHost, One(mine, back[t].data(), 64)).ok();
        ok &= i % 10 != 0 || shared->Synchronize().ok();
        if (!ok) ++failed;
        device_->free_bytes();
        if (!device_->Allocate(100, "thread").ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(shared->Synchronize().ok());
  ASSERT_TRUE(behind->Synchronize().ok());
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(sink.all().size(), static_cast<size_t>(kThreads * kRounds));
  for (int t = 0; t < kThreads; ++t) EXPECT_TRUE(Same(back[t], from[t]));
}

TEST_P(DeviceConformance, MemoryHasABudget) {
  DeviceOptions options = GetParam().options;
  options.memory_bytes = 8 << 20;
  Result<std::unique_ptr<Device>> opened = GetParam().open(options);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  Device& device = **opened;
  EXPECT_EQ(device.info().memory_bytes, options.memory_bytes);
  const uint64_t free = device.free_bytes();
  EXPECT_LE(free, options.memory_bytes);
  Result<std::unique_ptr<DeviceMemory>> most = device.Allocate(5 << 20, "slots");
  ASSERT_TRUE(most.ok()) << most.status().ToString();
  EXPECT_LE(device.free_bytes(), free - (5 << 20));
  const Status beyond = device.Allocate(4 << 20, "the ring").status();
  EXPECT_EQ(beyond.code(), StatusCode::kResourceExhausted);
  for (const char* part : {"the ring", "4.19 MB", "free", "lower"}) {
    EXPECT_NE(beyond.message().find(part), std::string_view::npos) << beyond.ToString();
  }
  EXPECT_EQ(device.Allocate(SIZE_MAX, "everything").status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(device.Allocate(0, "nothing").status().code(), StatusCode::kInvalidArgument);
  most->reset();
  EXPECT_EQ(device.free_bytes(), free);
  EXPECT_TRUE(device.Allocate(4 << 20, "again").ok());
}

TEST_P(DeviceConformance, AnUnpacedStreamCopiesLikeAnyOther) {
  Result<std::unique_ptr<Stream>> stream =
      device_->CreateStream({.name = "set up", .unpaced = true});
  ASSERT_TRUE(stream.ok()) << stream.status().ToString();
  Result<std::unique_ptr<DeviceMemory>> memory = device_->Allocate(1000, "slot");
  ASSERT_TRUE(memory.ok()) << memory.status().ToString();
  const std::span<std::byte> from = Host(1000, std::byte{0x5A});
  const std::span<std::byte> back = Host<std::byte>(1000);
  std::byte* card = (*memory)->data();
  EXPECT_TRUE((*stream)->Copy(CopyDirection::kToCard, One(from.data(), card, 1000)).ok());
  EXPECT_TRUE((*stream)->Copy(CopyDirection::kToHost, One(card, back.data(), 1000)).ok());
  EXPECT_TRUE((*stream)->Synchronize().ok());
  EXPECT_TRUE(Same(back, from));
}

TEST_P(DeviceConformance, StreamsThatMakeNoSenseAreRefused) {
  const auto code = [&](const StreamOptions& options) {
    return device_->CreateStream(options).status().code();
  };
  EXPECT_EQ(code({.name = "none", .capacity = 0}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.name = "half", .max_hidden = 64}), StatusCode::kInvalidArgument);
}

}  // namespace berth::kernels

#include "tests/kernels/device_conformance_call.h"  // IWYU pragma: export

#endif  // BERTH_TESTS_KERNELS_DEVICE_CONFORMANCE_H_
