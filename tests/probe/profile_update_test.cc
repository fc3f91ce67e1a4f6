// Measurements in the file of a machine profile, and the choice of kernels that is read from it.
#include "runtime/config/profile_update.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/config/kernel_table.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using kernels::KernelChoice;
using kernels::KernelKind;

kernels::ExpertSpec Spec() {
  kernels::ExpertSpec spec;
  spec.experts = 512;
  spec.hidden = 2560;
  spec.ffn = 640;
  spec.gate.type = spec.up.type = TensorType::kIQ3_S;
  spec.down.type = TensorType::kIQ4_NL;
  return spec;
}

MeasuredKernel Choice(uint32_t rows, KernelChoice kernel, double seconds = 1e-5) {
  MeasuredKernel choice = MeasuredKernelOf(Spec(), 10, rows);
  choice.kernel = kernel;
  choice.seconds = seconds;
  return choice;
}

CardProfile Card(std::string properties, std::vector<MeasuredKernel> choices) {
  CardProfile card;
  card.card = "cuda:0";
  card.properties = std::move(properties);
  card.memory_bytes = 5;
  card.update_s = 3e-6;
  card.unit_bytes = 2329600;
  card.kernels = {{1, 512}, {1, 8}, {1e-5, 2e-5, 3e-5, 4e-5}};
  card.choices = std::move(choices);
  card.source = "measured";
  return card;
}

MachineProfile Parsed(const Result<std::string>& text) {
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  const auto profile = ParseMachineProfile(*text, "p.json");
  EXPECT_TRUE(profile.ok()) << profile.status().ToString();
  return profile.ok() ? *profile : MachineProfile();
}

TEST(ProfileUpdate, ComesBackAsItWasMeasured) {
  ProfileUpdate update;
  update.card =
      Card("A card", {Choice(1, {KernelKind::kDots}), Choice(64, {KernelKind::kWide, 48})});
  LinkProfile link;
  link.card = "cuda:0";
  link.bytes_per_s = 55e9;
  link.issue_s = 2.2e-6;
  link.rates = {{65536, 2329600}, {0}, {17e9, 52e9}};
  update.link = link;
  HostProfile host;
  host.read_bytes_per_s = 30e9;
  host.compute = {{1, 8}, {0}, {20e9, 10e9}};
  update.host = host;
  const MachineProfile profile = Parsed(MergeProfile("", "p.json", "desk", update));
  EXPECT_EQ(profile.name, "desk");
  ASSERT_EQ(profile.cards.size(), 1u);
  const CardProfile& card = profile.cards[0];
  EXPECT_EQ(card.properties, "A card");
  EXPECT_EQ(card.kernels.value, update.card->kernels.value);
  EXPECT_EQ(card.kernels.x, update.card->kernels.x);
  EXPECT_EQ(card.update_s, 3e-6);
  EXPECT_EQ(card.memory_bytes, 5u);
  EXPECT_EQ(card.bytes_per_s, 0);
  ASSERT_EQ(card.choices.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(card.choices[i].SameCalls(update.card->choices[i]));
    EXPECT_EQ(card.choices[i].kernel, update.card->choices[i].kernel);
    EXPECT_EQ(card.choices[i].seconds, 1e-5);
  }
  EXPECT_EQ(profile.links[0].rates.value, link.rates.value);
  EXPECT_EQ(profile.links[0].issue_s, 2.2e-6);
  EXPECT_EQ(profile.host.read_bytes_per_s, 30e9);
  EXPECT_EQ(profile.host.compute.value, host.compute.value);
}

TEST(ProfileUpdate, LeavesTheRestAsItIs) {
  const std::string before = R"({"unknown": [1, {"a": null}], "name": "mine", "notes": "keep",
      "storage": {"bytes_per_s": 5e9, "new_field": 1},
      "links": [{"card": "cuda:1", "bytes_per_s": 9e9}],
      "cards": [{"card": "cuda:1", "memory_bytes": 7}, {"card": "cuda:0", "memory_bytes": 8}]})";
  ProfileUpdate update;
  update.card = Card("A card", {Choice(1, {KernelKind::kDots}), Choice(4, {KernelKind::kDots})});
  auto text = MergeProfile(before, "p.json", "other", update);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  auto merged = nlohmann::json::parse(*text);
  EXPECT_EQ(merged["name"], "mine");
  EXPECT_EQ(merged["unknown"], nlohmann::json::parse(R"([1, {"a": null}])"));
  EXPECT_EQ(merged["storage"]["new_field"], 1);
  EXPECT_EQ(merged["links"].size(), 1u);
  EXPECT_EQ(merged["cards"].size(), 2u);
  EXPECT_EQ(merged["cards"][0]["memory_bytes"], 7);
  EXPECT_EQ(merged["cards"][1]["memory_bytes"], 8);
  EXPECT_EQ(merged["cards"][1]["properties"], "A card");
  // The same calls again take the place of the old ones, other calls stay.
  update.card =
      Card("A card", {Choice(4, {KernelKind::kMatrices}), Choice(8, {KernelKind::kDots})});
  text = MergeProfile(*text, "p.json", "other", update);
  ASSERT_TRUE(text.ok());
  merged = nlohmann::json::parse(*text);
  const auto& choices = merged["cards"][1]["choices"];
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[1]["rows"], 4);
  EXPECT_EQ(choices[1]["kernel"], "matrices");
  // Of another card nothing stays but whose place it takes.
  update.card = Card("Another card", {Choice(2, {KernelKind::kPlain})});
  text = MergeProfile(*text, "p.json", "other", update);
  ASSERT_TRUE(text.ok());
  merged = nlohmann::json::parse(*text);
  EXPECT_EQ(merged["cards"][0]["memory_bytes"], 7);
  EXPECT_EQ(merged["cards"][1]["memory_bytes"], 5);
  EXPECT_EQ(merged["cards"][1]["choices"].size(), 1u);
}

TEST(ProfileUpdate, RefusesWhatIsNoProfile) {
  ProfileUpdate update;
  update.card = Card("A card", {});
  for (const char* text :
       {"[]", "{", "7", R"({"cards": {}})", R"({"cards": [1]})", R"({"cards": [{"card": 1}]})",
        R"({"a": 1, "a": 2})", R"({"cards": [{"card": "cuda:0", "choices": 1}]})"}) {
    update.card->choices = {Choice(1, {KernelKind::kDots})};
    const auto merged = MergeProfile(text, "p.json", "x", update);
    ASSERT_FALSE(merged.ok()) << text;
    EXPECT_EQ(merged.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(merged.status().message().starts_with("p.json: ")) << merged.status().message();
  }
}

TEST(ProfileUpdate, FilesAreReplacedWholeOrNotAtAll) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "desk.json";
  ProfileUpdate update;
  update.card = Card("A card", {Choice(1, {KernelKind::kDots})});
  ASSERT_TRUE(CheckProfileUpdate(path).ok());
  ASSERT_TRUE(UpdateMachineProfile(path, update).ok());
  EXPECT_EQ(ReadMachineProfile(path)->name, "desk");
  ASSERT_TRUE(CheckProfileUpdate(path).ok());
  std::ofstream(path) << "[1]";
  EXPECT_FALSE(CheckProfileUpdate(path).ok());
  EXPECT_FALSE(UpdateMachineProfile(path, update).ok());
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "[1]");
}

TEST(KernelTable, TakesTheNearestRows) {
  const CardProfile card =
      Card("A card", {Choice(16, {KernelKind::kMatrices}), Choice(1, {KernelKind::kDots}),
                      Choice(64, {KernelKind::kWide, 48})});
  const KernelTable table(card, Spec(), 10);
  ASSERT_FALSE(table.empty());
  const KernelChoice dots{KernelKind::kDots}, matrices{KernelKind::kMatrices},
      wide{KernelKind::kWide, 48};
  for (const uint32_t rows : {1u, 2u, 4u}) EXPECT_EQ(table.For(rows), dots) << rows;
  for (const uint32_t rows : {5u, 16u, 32u}) EXPECT_EQ(table.For(rows), matrices) << rows;
  for (const uint32_t rows : {33u, 64u, 128u}) EXPECT_EQ(table.For(rows), wide) << rows;
  EXPECT_EQ(table.For(129), KernelChoice());
  const KernelTable late(Card("A card", {Choice(16, matrices)}), Spec(), 10);
  EXPECT_EQ(late.For(8), matrices);
  EXPECT_EQ(late.For(7), KernelChoice());
}

TEST(KernelTable, KnowsOnlyTheCallsThatWereMeasured) {
  const CardProfile card = Card("A card", {Choice(1, {KernelKind::kDots})});
  EXPECT_TRUE(KernelTable(card, Spec(), 8).empty());
  kernels::ExpertSpec other = Spec();
  other.down.type = TensorType::kQ8_0;
  EXPECT_TRUE(KernelTable(card, other, 10).empty());
  other = Spec();
  other.ffn = 1280;
  EXPECT_TRUE(KernelTable(card, other, 10).empty());
  EXPECT_TRUE(KernelTable().empty());
  EXPECT_EQ(KernelTable().For(1), KernelChoice());
}

TEST(KernelChoice, IsReadAsItIsWritten) {
  for (const char* text : {"auto", "plain", "dots", "matrices", "wide:16", "wide:112"}) {
    const auto choice = kernels::ParseKernelChoice(text);
    ASSERT_TRUE(choice.ok()) << text;
    EXPECT_EQ(choice->ToString(), text);
  }
  for (const char* text : {"", "dot", "wide", "wide:", "wide:0", "wide:17", "wide:99999999999",
                           "wide:-16", "dots:16", "wide:16 "}) {
    EXPECT_FALSE(kernels::ParseKernelChoice(text).ok()) << text;
  }
}

}  // namespace
}  // namespace berth
