// What a probe prints.
#include "runtime/tools/probe_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace berth::tools {
namespace {

using kernels::KernelKind;

probe::ProbeReport Report() {
  probe::ProbeReport report;
  report.device = "cuda:0";
  report.properties = "A card with quite a long name, 132 processors, compute 9.0, 150 GB";
  report.exact_rows = 8;
  probe::ProbeLayer layer;
  layer.types = "IQ3_XXS+IQ4_NL";
  layer.spec.hidden = 2560;
  layer.spec.ffn = 640;
  layer.spec.experts = 512;
  layer.spec.unit_bytes = 2'000'000;
  layer.top_k = 10;
  layer.layers = 24;
  report.layers = {layer};
  probe::ProbeCell few;
  few.rows = 8;
  few.units = 74.5;
  few.variants = {{{KernelKind::kDots}, 169e-6, true},
                  {{KernelKind::kMatrices}, 130e-6, true},
                  {{KernelKind::kPlain}, 0, false}};
  few.chosen = 1;
  probe::ProbeCell many = few;
  many.rows = 4096;
  many.variants = {{{KernelKind::kWide, 112}, 6860.2e-6, true},
                   {{KernelKind::kWide, 48}, 6000.1e-6, true}};
  report.cells = {few, many};
  CardProfile& card = report.measured.card.emplace();
  card.update_s = 3e-6;
  card.reduce_s = 4e-6;
  card.bytes_per_s = 4e12;
  LinkProfile& link = report.measured.link.emplace();
  link.issue_s = link.latency_s = 2e-6;
  link.rates = {{65536, 262144, 1048576, 2000000, 16777216}, {0}, {17e9, 35e9, 50e9, 52e9, 55e9}};
  return report;
}

TEST(ProbeReport, TablesFitATerminal) {
  std::istringstream text(ProbeTable(Report(), "machine.json"));
  bool few = false, many = false, facts = false;
  for (std::string line; std::getline(text, line);) {
    facts = facts || line.starts_with("device ");
    if (!facts) {
      EXPECT_LE(line.size(), 100u) << line;
    }
    // The wrong one shows no time; the chosen one its gain over the first.
    few = few || (line.find("169.0") != line.npos && line.find("130.0  ") != line.npos &&
                  line.find("matrices") != line.npos && line.find("30.0") != line.npos);
    many = many || (line.find("6000.1") != line.npos && line.find("wide:48") != line.npos &&
                    line.find("6860.2") == line.npos);
  }
  EXPECT_TRUE(few && many && facts);
}

TEST(ProbeReport, JsonHasEveryVariant) {
  const nlohmann::json json = ProbeJson(Report(), "machine.json");
  ASSERT_EQ(json["cells"].size(), 2u);
  EXPECT_EQ(json["cells"][0]["kernels"].size(), 3u);
  EXPECT_EQ(json["cells"][0]["kernels"][2]["same_bits"], false);
  EXPECT_EQ(json["cells"][1]["chosen"], "wide:48");
  EXPECT_EQ(json["profile"], "machine.json");
  EXPECT_EQ(json["link"]["rates"].size(), 5u);
  EXPECT_FALSE(json.contains("host"));
}

}  // namespace
}  // namespace berth::tools
