// Second part of the conformance suite: pointer table, grouped call, reduction, errors, no
// allocation, the pace of the link. Included by device_conformance.h.
#ifndef BERTH_TESTS_KERNELS_DEVICE_CONFORMANCE_CALL_H_
#define BERTH_TESTS_KERNELS_DEVICE_CONFORMANCE_CALL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/card_bytes.h"
#include "runtime/base/math.h"
#include "tests/kernels/device_fixture.h"
#include "tests/kernels/small_experts.h"
#include "tests/new_counter.h"

namespace berth::kernels {

// Three rows, top-2, four experts: what a step needs, with inputs and outputs in card memory.
class DeviceCall : public DeviceConformance {
 protected:
  static constexpr uint32_t kRows = 3;
  static constexpr uint32_t kTopK = 2;
  static constexpr uint32_t kPairs = kRows * kTopK;
  static constexpr uint32_t kHidden = SmallExperts::kHidden;

  void SetUp() override {
    DeviceConformance::SetUp();
    if (device_ == nullptr) return;
    StreamOptions options{.name = "compute", .sink = &sink_};
    options.max_hidden = kHidden;
    options.max_ffn = SmallExperts::kFfn;
    options.max_pairs = kPairs;
    stream_ = MakeStream(options);
    for (uint32_t e = 0; e < SmallExperts::kExperts; ++e) {
      units_.push_back(Allocate(SmallExperts::kUnitBytes));
      Write(units_[e]->data(), experts_.UnitBytes(e));
    }
    x_card_ = Allocate(kRows * kHidden * 4);
    partials_card_ = Allocate(kPairs * kHidden * 4);
    for (uint32_t i = 0; i < kRows * kHidden; ++i) x_.push_back(std::sin(0.37f * (i + 1)));
    Write(x_card_->data(), std::as_bytes(std::span(x_)));
    PoisonPartials();
  }

  void Write(std::byte* to, std::span<const std::byte> bytes) {
    const std::span<std::byte> from = Host<std::byte>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), from.begin());
    ASSERT_TRUE(stream_->Copy(CopyDirection::kToCard, One(from.data(), to, bytes.size())).ok());
    ASSERT_TRUE(stream_->Synchronize().ok());
  }
  void PoisonPartials() {
    const std::vector<float> nan(kPairs * kHidden, std::numeric_limits<float>::quiet_NaN());
    Write(partials_card_->data(), std::as_bytes(std::span(nan)));
  }
  std::vector<float> Partials() {
    const std::span<float> values = Host<float>(kPairs * kHidden);
    std::byte* to = reinterpret_cast<std::byte*>(values.data());
    EXPECT_TRUE(
        stream_->Copy(CopyDirection::kToHost, One(partials_card_->data(), to, values.size() * 4))
            .ok());
    EXPECT_TRUE(stream_->Synchronize().ok());
    return {values.begin(), values.end()};
  }
  // Pair p goes to ids_[p]; the units of the wave in order of first appearance.
  GroupedCall Call(bool by_address) {
    std::vector<WaveUnit> wave;
    std::vector<uint32_t> pairs;
    for (uint32_t e : {2u, 0u, 3u}) {
      WaveUnit unit{e, e, static_cast<uint32_t>(pairs.size()), 0,
                    by_address ? units_[e]->data() : nullptr};
      for (uint32_t p = 0; p < kPairs; ++p) {
        if (ids_[p] != static_cast<int32_t>(e)) continue;
        pairs.push_back(p);
        ++unit.pair_count;
      }
      wave.push_back(unit);
    }
    wave_ = OnHost(wave);
    pairs_ = OnHost(pairs);
    GroupedCall call;
    call.spec = &experts_.spec();
    call.units = wave_.data();
    call.unit_count = static_cast<uint32_t>(wave_.size());
    call.pairs = pairs_.data();
    call.top_k = kTopK;
    call.x = reinterpret_cast<const float*>(x_card_->data());
    call.partials = reinterpret_cast<float*>(partials_card_->data());
    return call;
  }
  void ExpectPartials(const std::vector<float>& got) {
    double largest = 0, worst = 0;
    for (uint32_t p = 0; p < kPairs; ++p) {
      if (ids_[p] < 0) {  // routed to nobody: still what it was
        EXPECT_TRUE(std::isnan(got[p * kHidden])) << p;
        continue;
      }
      const std::vector<double> want = experts_.Apply(ids_[p], &x_[p / kTopK * kHidden]);
      for (uint32_t h = 0; h < kHidden; ++h) {
        ASSERT_FALSE(std::isnan(got[p * kHidden + h])) << p << " " << h;
        largest = std::max(largest, std::abs(want[h]));
        worst = std::max(worst, std::abs(want[h] - got[p * kHidden + h]));
      }
    }
    EXPECT_LE(worst, 1e-5 * largest);
    EXPECT_GT(worst, 0);  // F32 cannot equal double everywhere: something else was compared
  }
  Status Publish(UnitIndex unit, const std::byte* address) {
    const TableEntry entry{unit, address};
    return stream_->UpdateTable({&entry, 1});
  }

  SmallExperts experts_;
  std::vector<int32_t> ids_ = {2, 0, 0, 3, kNoExpert, 2};
  std::vector<float> x_;
  std::span<WaveUnit> wave_;
  std::span<uint32_t> pairs_;
  Collector sink_;
  std::vector<std::unique_ptr<DeviceMemory>> units_;
  std::unique_ptr<DeviceMemory> x_card_, partials_card_;
  std::unique_ptr<Stream> stream_;
};

TEST_P(DeviceCall, TakesTheCardMemoryThatIsPlannedFor) {
  const bool on_card = device_->info().host_memory == HostMemory::kRegistered;
  StreamOptions options{.name = "planned", .max_hidden = 512, .max_ffn = 96, .max_pairs = 70};
  options.max_rows = 10;
  options.max_units = 24;
  const uint64_t free = device_->free_bytes();
  {
    std::unique_ptr<Stream> stream = MakeStream(options);
    const uint64_t taken = free - device_->free_bytes();
    EXPECT_EQ(taken, on_card ? AlignUp(CardStreamBytes(options), kCardAlign) : 0u);
    EXPECT_EQ(taken > 0, on_card);
  }
  EXPECT_EQ(device_->free_bytes(), free);
  EXPECT_EQ(CardStreamBytes(StreamOptions()), 0u);
}

TEST_P(DeviceCall, RunsUnitsByAddress) {
  ASSERT_TRUE(stream_->Run(Call(/*by_address=*/true)).ok());
  ExpectPartials(Partials());
}

TEST_P(DeviceCall, RunsUnitsThroughTheTable) {
  ASSERT_TRUE(device_->CreateTable(SmallExperts::kExperts).ok());
  EXPECT_EQ(device_->CreateTable(4).code(), StatusCode::kFailedPrecondition);
  // Published under the wrong address first: the call must see the last update before it.
  for (uint32_t e = 0; e < 4; ++e) ASSERT_TRUE(Publish(e, units_[(e + 1) % 4]->data()).ok());
  for (uint32_t e = 0; e < 4; ++e) ASSERT_TRUE(Publish(e, units_[e]->data()).ok());
  const GroupedCall call = Call(/*by_address=*/false);
  ASSERT_TRUE(stream_->Run(call).ok());
  // Unpublished right behind it: no matter to the call before.
  for (uint32_t e = 0; e < 4; ++e) ASSERT_TRUE(Publish(e, nullptr).ok());
  ExpectPartials(Partials());
}

TEST_P(DeviceCall, AUnitThatIsNotPublishedFailsTheRunAndOnlyIt) {
  ASSERT_TRUE(device_->CreateTable(SmallExperts::kExperts).ok());
  for (uint32_t e = 0; e < 4; ++e) ASSERT_TRUE(Publish(e, units_[e]->data()).ok());
  ASSERT_TRUE(Publish(3, nullptr).ok());
  const std::span<std::byte> untouched = Host(4, std::byte{0x11});
  // One call for both runs: its units must stay as they are until both are done.
  const GroupedCall call = Call(/*by_address=*/false);
  ASSERT_TRUE(stream_->Run(call).ok());
  // Skipped: it comes after the failure and before its report.
  ASSERT_TRUE(
      stream_->Copy(CopyDirection::kToHost, One(units_[0]->data(), untouched.data(), 4)).ok());
  ASSERT_TRUE(stream_->Notify(1).ok());
  ASSERT_TRUE(Publish(3, units_[3]->data()).ok());
  ASSERT_TRUE(stream_->Run(call).ok());
  ASSERT_TRUE(stream_->Notify(2).ok());
  ASSERT_TRUE(sink_.WaitForCount(2));
  const Status failed = sink_.all()[0].status;
  EXPECT_EQ(failed.code(), StatusCode::kInternal);
  EXPECT_NE(failed.message().find("unit 3"), std::string_view::npos) << failed.ToString();
  EXPECT_EQ(untouched[0], std::byte{0x11});
  EXPECT_TRUE(sink_.all()[1].status.ok()) << sink_.all()[1].status.ToString();
  ExpectPartials(Partials());
}

TEST_P(DeviceCall, ErrorsStayUntilSynchronizeReportsThem) {
  EXPECT_TRUE(Publish(0, units_[0]->data()).ok());
  const Status no_table = stream_->Synchronize();
  EXPECT_EQ(no_table.code(), StatusCode::kFailedPrecondition) << no_table.ToString();
  ASSERT_TRUE(device_->CreateTable(2).ok());
  EXPECT_TRUE(stream_->Synchronize().ok());
  EXPECT_TRUE(Publish(2, units_[2]->data()).ok());
  EXPECT_TRUE(Publish(kNoUnit, units_[2]->data()).ok());  // skipped; the first error is reported
  const Status range = stream_->Synchronize();
  EXPECT_EQ(range.code(), StatusCode::kOutOfRange);
  EXPECT_NE(range.message().find("unit 2 "), std::string_view::npos) << range.ToString();
  EXPECT_TRUE(Publish(kNoUnit, units_[2]->data()).ok());
  EXPECT_EQ(stream_->Synchronize().code(), StatusCode::kOutOfRange);
  const std::vector<TableEntry> many(kMaxTableEntries + 1, TableEntry{0, nullptr});
  EXPECT_EQ(stream_->UpdateTable(many).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(stream_->UpdateTable({many.data(), kMaxTableEntries}).ok());
  EXPECT_TRUE(stream_->Synchronize().ok());
}

TEST_P(DeviceCall, EventsPassOnEvenInAFailedStream) {
  std::unique_ptr<Event> event = MakeEvent();
  std::unique_ptr<Stream> other = MakeStream("other");
  ASSERT_TRUE(Publish(0, nullptr).ok());  // no table yet: an error
  ASSERT_TRUE(stream_->Record(event.get()).ok());
  ASSERT_TRUE(other->Wait(event.get()).ok());
  EXPECT_TRUE(other->Synchronize().ok());
  EXPECT_FALSE(stream_->Synchronize().ok());
}

TEST_P(DeviceCall, CallsBeyondTheStreamAreRefused) {
  GroupedCall call = Call(true);
  std::unique_ptr<Stream> copies = MakeStream("copies");
  EXPECT_EQ(copies->Run(call).code(), StatusCode::kFailedPrecondition);
  ExpertSpec wide = experts_.spec();
  wide.hidden = kHidden + 1;
  call.spec = &wide;
  EXPECT_EQ(stream_->Run(call).code(), StatusCode::kInvalidArgument);
  call = Call(true);
  call.unit_count = kPairs + 1;
  EXPECT_EQ(stream_->Run(call).code(), StatusCode::kInvalidArgument);
  call = Call(true);
  wave_[0].pair_count += kPairs;  // seen only when it runs
  EXPECT_TRUE(stream_->Run(call).ok());
  EXPECT_EQ(stream_->Synchronize().code(), StatusCode::kInvalidArgument);
  call = Call(true);
  wave_[1].expert = SmallExperts::kExperts;
  EXPECT_TRUE(stream_->Run(call).ok());
  EXPECT_EQ(stream_->Synchronize().code(), StatusCode::kInvalidArgument);
  EXPECT_GE(device_->workspace_bytes(), kHidden * sizeof(float));
}

TEST_P(DeviceCall, ReducesInOrderOfK) {
  const std::vector<float> weights = {0.75f, 0.25f, 0.5f, 0.5f, 9.0f, 1.0f};
  std::vector<float> partials(kPairs * kHidden);
  for (size_t i = 0; i < partials.size(); ++i) partials[i] = std::cos(0.11f * i);
  for (uint32_t h = 0; h < kHidden; ++h) partials[4 * kHidden + h] = NAN;  // ids_[4] is nobody
  Write(partials_card_->data(), std::as_bytes(std::span(partials)));
  constexpr size_t kStride = kHidden + 8;
  std::vector<float> y(kRows * kStride, -3.0f);
  std::unique_ptr<DeviceMemory> weights_card = Allocate(weights.size() * 4);
  std::unique_ptr<DeviceMemory> ids_card = Allocate(ids_.size() * 4);
  std::unique_ptr<DeviceMemory> y_card = Allocate(y.size() * 4);
  Write(weights_card->data(), std::as_bytes(std::span(weights)));
  Write(ids_card->data(), std::as_bytes(std::span(ids_)));
  Write(y_card->data(), std::as_bytes(std::span(y)));
  ReduceCall call;
  call.rows = kRows;
  call.top_k = kTopK;
  call.hidden = kHidden;
  call.partials = reinterpret_cast<const float*>(partials_card_->data());
  call.weights = reinterpret_cast<const float*>(weights_card->data());
  call.ids = reinterpret_cast<const int32_t*>(ids_card->data());
  call.y = y_card->data();
  call.y_stride = kStride;
  ASSERT_TRUE(stream_->Reduce(call).ok());
  const std::span<std::byte> back = Host<std::byte>(y.size() * 4);
  ASSERT_TRUE(
      stream_->Copy(CopyDirection::kToHost, One(y_card->data(), back.data(), y.size() * 4)).ok());
  ASSERT_TRUE(stream_->Synchronize().ok());
  std::memcpy(y.data(), back.data(), back.size());
  for (uint32_t r = 0; r < kRows; ++r) {
    for (uint32_t h = 0; h < kStride; ++h) {
      double want = h < kHidden ? 0 : -3;
      for (uint32_t k = 0; h < kHidden && k < kTopK; ++k) {
        const uint32_t pair = r * kTopK + k;
        if (ids_[pair] >= 0)
          want += static_cast<double>(weights[pair]) * partials[pair * kHidden + h];
      }
      ASSERT_NEAR(y[r * kStride + h], want, 1e-6) << r << " " << h;
    }
  }
}

TEST_P(DeviceCall, AllocatesNothingWhenWarm) {
  ASSERT_TRUE(device_->CreateTable(SmallExperts::kExperts).ok());
  std::unique_ptr<Stream> copies = MakeStream("copies");
  std::unique_ptr<Event> event = MakeEvent();
  const std::span<std::byte> from = OnHost(Noise(4096, 4));
  std::unique_ptr<DeviceMemory> card = Allocate(4096);
  const GroupedCall call = Call(/*by_address=*/true);
  const auto round = [&](uint64_t token) {
    bool ok = copies->Wait(event.get()).ok();
    ok &= copies->Copy(CopyDirection::kToCard, One(from.data(), card->data(), 4096)).ok();
    ok &= copies->Record(event.get()).ok();
    ok &= stream_->Wait(event.get()).ok();
    ok &= Publish(1, card->data()).ok();
    ok &= stream_->Run(call).ok();
    ok &= stream_->Record(event.get()).ok();
    ok &= stream_->Notify(token).ok();
    ok &= stream_->Synchronize().ok() && copies->Synchronize().ok();
    return ok;
  };
  for (uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(round(i));
  const uint64_t before = NewCalls();
  bool ok = true;
  for (uint64_t i = 0; i < 100; ++i) ok &= round(i);
  EXPECT_TRUE(NewCalls() == before || GetParam().allocates) << NewCalls() - before;
  EXPECT_TRUE(ok);
}

inline std::string DeviceName(const ::testing::TestParamInfo<DeviceParam>& info) {
  return info.param.name;
}

}  // namespace berth::kernels

#endif  // BERTH_TESTS_KERNELS_DEVICE_CONFORMANCE_CALL_H_
