// A whole probe, on the emulated card and on the host, of layers so small that it takes a moment.
#include "runtime/probe/probe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/gpu/gpu_device.h"
#include "runtime/config/kernel_table.h"
#include "runtime/probe/call_bench.h"
#include "tests/temporary_directory.h"

namespace berth::probe {
namespace {

using kernels::KernelChoice;
using kernels::KernelKind;

ProbeOptions Small(const std::string& device) {
  ProbeOptions options;
  options.device = device;
  options.types = {"q8_0+q4_0"};
  options.shape = {.hidden = 64, .ffn = 32, .experts = 4, .top_k = 2};
  options.rows = {2, 1, 2};
  options.exact_rows = 1;
  options.memory_bytes = 64 << 20;
  options.slot_bytes = 1 << 20;
  options.copy_bytes = 1 << 20;
  options.read_bytes = 1 << 20;
  options.threads = 2;
  options.timing = {.rounds = 1, .batch_s = 0, .most_times = 2, .budget_s = 0};
  options.open_device = kernels::OpenEmulatedDevice;
  return options;
}

TEST(Probe, ACardGetsKernelsAndFigures) {
  ProbeOptions options = Small("cuda:0");
  uint64_t last = 0, all = 0;
  options.progress = [&](uint64_t done, uint64_t of) {
    EXPECT_GE(done, last);
    last = done;
    all = of;
  };
  const auto report = RunProbe(options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(last, all);
  EXPECT_NE(report->properties.find("emulated card, 2 processors"), std::string::npos);
  EXPECT_TRUE(report->notes.empty()) << report->notes[0];
  ASSERT_EQ(report->cells.size(), 2u);
  EXPECT_EQ(report->cells[0].rows, 1u);
  for (const ProbeCell& cell : report->cells) {
    EXPECT_GE(cell.variants.size(), 2u);
    EXPECT_GE(cell.units, 2);
    for (const ProbeCell::Variant& variant : cell.variants) {
      EXPECT_TRUE(variant.same_bits);
      EXPECT_GT(variant.seconds, 0);
    }
  }
  // With two rows units may have more than exact_rows pairs.
  EXPECT_EQ(report->cells[0].variants.back().kernel, KernelChoice{KernelKind::kPlain});
  EXPECT_EQ(report->cells[1].variants[0].kernel.kind, KernelKind::kWide);
  EXPECT_FALSE(report->measured.host.has_value());

  // What a run will read of it.
  const testing::TemporaryDirectory folder;
  ASSERT_TRUE(UpdateMachineProfile(folder / "p.json", report->measured).ok());
  const auto profile = ReadMachineProfile(folder / "p.json");
  ASSERT_TRUE(profile.ok()) << profile.status().ToString();
  const CardProfile* const card = FindCard(*profile, "cuda:0");
  ASSERT_NE(card, nullptr);
  EXPECT_EQ(card->properties, report->properties);
  EXPECT_EQ(card->kernels.x, (std::vector<double>{1, 4}));
  EXPECT_EQ(card->kernels.y, (std::vector<double>{1, 2}));
  EXPECT_GT(card->bytes_per_s, 0);
  EXPECT_GT(*card->update_s, 0);
  const KernelTable table(*card, report->layers[0].spec, 2);
  for (const ProbeCell& cell : report->cells) {
    EXPECT_EQ(table.For(cell.rows), cell.variants[cell.chosen].kernel);
  }
  ASSERT_EQ(profile->links.size(), 1u);
  EXPECT_EQ(profile->links[0].card, "cuda:0");
  EXPECT_GE(profile->links[0].rates.x.size(), 4u);
  EXPECT_GT(profile->links[0].to_host_bytes_per_s, 0);
  EXPECT_GT(profile->links[0].kernel_bytes_per_s, 0);
  EXPECT_FALSE(profile->links[0].copy_path.empty());
}

TEST(Probe, TheHostIsMeasuredAsWhatComputesMisses) {
  ProbeOptions options = Small("host");
  options.open_device = kernels::OpenDevice;
  const auto report = RunProbe(options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_FALSE(report->measured.card.has_value());
  EXPECT_FALSE(report->measured.link.has_value());
  ASSERT_TRUE(report->measured.host.has_value());
  EXPECT_GT(report->measured.host->read_bytes_per_s, 0);
  EXPECT_EQ(report->measured.host->compute.x, (std::vector<double>{1, 2}));
  const auto text = MergeProfile("", "p.json", "p", report->measured);
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(ParseMachineProfile(*text, "p.json").ok());
}

TEST(Probe, AllTypesAreThoseWithAChoice) {
  ProbeOptions options = Small("cuda:0");
  const auto device = kernels::OpenEmulatedDevice({.name = "cuda:0", .memory_bytes = 64 << 20});
  ASSERT_TRUE(device.ok());
  const ProbeShape shape = {.hidden = 512, .ffn = 96, .experts = 4, .top_k = 2};
  const auto layers = LayersOfTypes({"all"}, shape, **device);
  ASSERT_TRUE(layers.ok());
  EXPECT_GE(layers->size(), 17u);
  bool over = false;
  for (const ProbeLayer& layer : *layers) {
    EXPECT_GT((*device)->Kernels(layer.spec, 1, 2).size(), 1u) << layer.types;
    over = over || layer.types == "IQ3_S+IQ4_NL";
  }
  EXPECT_TRUE(over);
}

TEST(Probe, RefusesInOneLine) {
  const auto expect = [](const ProbeOptions& options, const std::string& part) {
    const auto report = RunProbe(options);
    ASSERT_FALSE(report.ok()) << part;
    EXPECT_NE(report.status().ToString().find(part), std::string::npos)
        << report.status().ToString();
  };
  ProbeOptions options = Small("cuda:0");
  options.shape.experts = 0;
  expect(options, "--experts");
  options = Small("cuda:0");
  options.shape.top_k = 5;
  expect(options, "--top-k 5 of 4 experts");
  options = Small("cuda:0");
  options.shape.hidden = 65;
  expect(options, "q8_0+q4_0");
  options = Small("cuda:0");
  options.types = {"q9_0+q4_0"};
  expect(options, "q9_0");
  options = Small("cuda:7");
  expect(options, "numbered from 0");
  options = Small("cude:0");
  expect(options, "did you mean");
  options = Small("cuda:0");
  options.memory_bytes = 16 << 10;
  expect(options, "Q8_0+Q4_0");
  options = Small("cuda:0");
  options.model = "/nowhere/m.gguf";
  expect(options, "/nowhere/m.gguf");
}

// A wrong kernel must show: the hash of the results is not that of others.
TEST(CallBench, HashesWhatACallWrites) {
  const auto device = kernels::OpenEmulatedDevice({.name = "cuda:0", .memory_bytes = 64 << 20});
  ASSERT_TRUE(device.ok());
  const auto layers = LayersOfTypes({"q8_0+q4_0"}, Small("cuda:0").shape, **device);
  ASSERT_TRUE(layers.ok());
  const auto bench =
      CallBench::Create(device->get(), (*layers)[0], {.max_rows = 2, .slot_bytes = 1 << 20});
  ASSERT_TRUE(bench.ok()) << bench.status().ToString();
  (*bench)->RouteRows(1);
  const uint64_t one = (*bench)->Hash({}).value();
  EXPECT_EQ((*bench)->Hash({KernelKind::kPlain}).value(), one);
  EXPECT_EQ((*device)->kernel_launches().plain, 2u);
  (*bench)->RouteRows(2);
  EXPECT_NE((*bench)->Hash({}).value(), one);
}

}  // namespace
}  // namespace berth::probe
