// The catalog, on fixtures of the reference writer and on models made wrong by hand.
#include "runtime/catalog/catalog.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/gguf/gguf.h"
#include "io/gguf/gguf_writer.h"
#include "kernels/formats/format.h"
#include "runtime/base/math.h"
#include "runtime/catalog/sidecar.h"
#include "tests/io/gguf/test_files.h"

namespace berth {
namespace {

using testing::TempDir;
using testing::WriteFile;

std::string Data(const std::string& name) { return std::string(BERTH_TEST_DATA) + "/" + name; }

TEST(Catalog, GptOssLikeHasBiasesAndUnalignedStrides) {
  const auto catalog = Catalog::Open(Data("tiny-gptoss-like.gguf"));
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  const Catalog& model = **catalog;
  EXPECT_EQ(model.architecture(), "gpt-oss");
  EXPECT_EQ(model.layers(), 2u);
  EXPECT_EQ(model.experts(), 8u);
  EXPECT_EQ(model.top_k(), 2u);
  EXPECT_EQ(model.hidden(), 288u);
  EXPECT_EQ(model.dense_layers(), 0u);
  EXPECT_FALSE(model.has_checksums());
  EXPECT_FALSE(model.is_pack());
  const kernels::ExpertSpec& spec = model.layer(0).spec;
  EXPECT_EQ(spec.conventions.activation, kernels::Activation::kClampedGate);
  EXPECT_EQ(spec.gate_sibling.bias.size(), 8u * 320);
  EXPECT_EQ(spec.down_sibling.bias.size(), 8u * 288);
  EXPECT_TRUE(spec.gate_sibling.scale.empty());
  // 320 rows of 288 / 32 blocks of 17 bytes.
  constexpr uint64_t kGate = 320 * 9 * 17;
  constexpr uint64_t kDown = 288 * 10 * 17;
  const auto extents = model.extents(model.unit({1, 3}));
  ASSERT_EQ(extents.size(), 3u);
  const auto file = io::ReadGguf(Data("tiny-gptoss-like.gguf"));
  EXPECT_EQ(extents[0].offset, file->data_offset + 1204736 + 3 * kGate);
  EXPECT_EQ(extents[2].offset, file->data_offset + 1988096 + 3 * kDown);
  EXPECT_EQ(extents[2].bytes, kDown);
  EXPECT_EQ(extents[1].card_offset, AlignUp(kGate, 256));
  ASSERT_EQ(model.size_classes().size(), 1u);
  EXPECT_EQ(model.size_classes()[0].payload_bytes, 2 * kGate + kDown);
  EXPECT_EQ(model.size_classes()[0].card_bytes % 256, 0u);
  EXPECT_EQ(model.Describe(11), "blk.1 expert 3 (unit 11)");
}

TEST(Catalog, HostBytesIsTheWorstCaseOverAllUnits) {
  const auto catalog = Catalog::Open(Data("tiny-gptoss-like.gguf"));
  ASSERT_TRUE(catalog.ok());
  uint64_t worst = 0;
  for (UnitIndex unit = 0; unit < (*catalog)->units(); ++unit) {
    uint64_t bytes = 0;
    for (const Extent& e : (*catalog)->extents(unit)) {
      bytes += AlignUp(e.offset + e.bytes, 4096) - AlignDown(e.offset, 4096);
    }
    worst = std::max(worst, bytes);
  }
  EXPECT_EQ((*catalog)->size_classes()[0].host_bytes, worst);
}

TEST(Catalog, FusedTensorIsOneExtentAndTwoMatrices) {
  const auto catalog = Catalog::Open(Data("tiny-fused-gate-up.gguf"));
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  const auto extents = (*catalog)->extents(0);
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_EQ(extents[0].role, TensorRole::kGateUp);
  EXPECT_EQ(extents[1].role, TensorRole::kDown);
  const kernels::ExpertSpec& spec = (*catalog)->layer(0).spec;
  EXPECT_EQ(spec.gate.rows, 256u);
  EXPECT_EQ(spec.up.rows, 256u);
  EXPECT_EQ(spec.gate.offset, 0u);
  EXPECT_EQ(spec.up.offset, 256 * spec.gate.row_bytes);
  EXPECT_EQ(spec.down.offset, AlignUp(512 * spec.gate.row_bytes, 256));
  const auto up_first =
      Catalog::Open(Data("tiny-fused-gate-up.gguf"), {.conventions = "gelu-gate,up-first"});
  ASSERT_TRUE(up_first.ok()) << up_first.status().ToString();
  EXPECT_EQ((*up_first)->layer(0).spec.up.offset, 0u);
}

TEST(Catalog, SplitModelWithMixedTypes) {
  const std::string path = std::string(BERTH_SHARED_DATA) + "/fixtures/tiny-qwen-like";
  if (!std::filesystem::exists(path + "-00001-of-00003.gguf")) {
    GTEST_SKIP() << "BERTH_SHARED_DATA names no folder with fixtures/tiny-qwen-like";
  }
  const auto catalog = Catalog::Open(path);
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  const Catalog& model = **catalog;
  EXPECT_EQ(model.model_name(), "tiny qwen-like moe fixture");
  EXPECT_EQ(model.layers(), 4u);
  EXPECT_EQ(model.dense_layers(), 1u);
  EXPECT_EQ(model.layer(0).block, 1u);
  EXPECT_EQ(model.size_classes().size(), 4u);
  EXPECT_EQ(model.layer(1).spec.down.type, TensorType::kQ2_0);
  // blk.2 straddles two shards.
  EXPECT_EQ(model.extents(model.unit({1, 0}))[0].file, 1u);
  EXPECT_EQ(model.extents(model.unit({1, 0}))[1].file, 2u);
}

// A model that can be made wrong.
struct Planned {
  std::string name;
  uint32_t type;
  std::vector<uint64_t> ne;
};
struct Recipe {
  std::string architecture = "qwen3moe";
  std::vector<std::pair<std::string, uint32_t>> keys = {{"block_count", 1},
                                                        {"embedding_length", 64},
                                                        {"expert_count", 4},
                                                        {"expert_used_count", 2},
                                                        {"expert_feed_forward_length", 32}};
  std::vector<Planned> tensors = {{"blk.0.ffn_gate_exps.weight", 8, {64, 32, 4}},
                                  {"blk.0.ffn_up_exps.weight", 8, {64, 32, 4}},
                                  {"blk.0.ffn_down_exps.weight", 8, {32, 64, 4}}};
  size_t cut = 0;  // bytes missing at the end

  Planned& tensor(const std::string& name) {
    for (Planned& t : tensors) {
      if (t.name == name) return t;
    }
    tensors.push_back({name, 0, {1}});
    return tensors.back();
  }
  void Drop(const std::string& name) {
    std::erase_if(tensors, [&](const Planned& t) { return t.name == name; });
  }
  void Key(const std::string& name, uint32_t value) {
    DropKey(name);
    keys.emplace_back(name, value);
  }
  void DropKey(const std::string& name) {
    std::erase_if(keys, [&](const auto& k) { return k.first == name; });
  }
};

uint64_t BytesOf(const Planned& tensor) {
  uint64_t bytes = tensor.ne[0] * 4;
  if (const auto* format = kernels::FindFormat(static_cast<TensorType>(tensor.type))) {
    bytes = tensor.ne[0] / format->block_elements * format->block_bytes;
  }
  for (size_t d = 1; d < tensor.ne.size(); ++d) bytes *= tensor.ne[d];
  return bytes;
}

std::string Write(const TempDir& dir, const Recipe& recipe) {
  io::GgufLayout layout;
  if (!recipe.architecture.empty()) layout.AddString("general.architecture", recipe.architecture);
  for (const auto& [key, value] : recipe.keys) {
    layout.AddUint32(recipe.architecture + "." + key, value);
  }
  for (const Planned& t : recipe.tensors) layout.AddTensor(t.name, t.type, t.ne, BytesOf(t));
  EXPECT_TRUE(layout.Finish().ok());
  std::string bytes(reinterpret_cast<const char*>(layout.header().data()), layout.header().size());
  bytes.resize(layout.file_bytes() - recipe.cut);
  const std::string path = dir.File("m.gguf");
  WriteFile(path, bytes);
  return path;
}

struct BadModel {
  std::string name;
  std::function<void(Recipe*)> change;
  StatusCode code;
  std::string part;  // of the message
};

class BadModelTest : public ::testing::TestWithParam<BadModel> {};

TEST_P(BadModelTest, IsRefusedInOneLine) {
  const TempDir dir;
  Recipe recipe;
  GetParam().change(&recipe);
  const auto catalog = Catalog::Open(Write(dir, recipe));
  ASSERT_FALSE(catalog.ok());
  const std::string message(catalog.status().message());
  EXPECT_EQ(catalog.status().code(), GetParam().code) << message;
  EXPECT_NE(message.find(GetParam().part), std::string::npos) << message;
  EXPECT_NE(message.find("m.gguf"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

constexpr StatusCode kWrong = StatusCode::kInvalidArgument;
INSTANTIATE_TEST_SUITE_P(
    Models, BadModelTest,
    ::testing::Values(
        BadModel{"NoGate", [](Recipe* r) { r->Drop("blk.0.ffn_gate_exps.weight"); }, kWrong,
                 "2 expert tensors (up, down): expected 3 (gate, up, down)"},
        BadModel{"NoDown", [](Recipe* r) { r->Drop("blk.0.ffn_down_exps.weight"); }, kWrong,
                 "2 expert tensors (gate, up)"},
        BadModel{"FusedAndSplit",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_gate_up_exps.weight") = {
                       "blk.0.ffn_gate_up_exps.weight", 8, {64, 64, 4}};
                 },
                 kWrong, "4 expert tensors"},
        BadModel{"UnknownType", [](Recipe* r) { r->tensor("blk.0.ffn_up_exps.weight").type = 99; },
                 StatusCode::kUnimplemented, "blk.0.ffn_up_exps.weight has type id 99"},
        BadModel{"F32Expert", [](Recipe* r) { r->tensor("blk.0.ffn_up_exps.weight").type = 0; },
                 StatusCode::kUnimplemented, "type id 0"},
        BadModel{"Hidden", [](Recipe* r) { r->Key("embedding_length", 96); }, kWrong,
                 "the outputs of down is 64: expected 96"},
        BadModel{"Ffn", [](Recipe* r) { r->Key("expert_feed_forward_length", 64); }, kWrong,
                 "the inputs of down is 32: expected 64"},
        BadModel{"Experts", [](Recipe* r) { r->Key("expert_count", 8); }, kWrong,
                 "the number of experts is 4: expected 8"},
        BadModel{"TopKBeyondExperts", [](Recipe* r) { r->Key("expert_used_count", 5); }, kWrong,
                 "expected 5"},
        BadModel{"NoTopK", [](Recipe* r) { r->DropKey("expert_used_count"); }, kWrong,
                 "expert_used_count is absent"},
        BadModel{"BlockCount", [](Recipe* r) { r->Key("block_count", 0); }, kWrong,
                 "block_count is 0"},
        BadModel{"HugeFigure", [](Recipe* r) { r->Key("embedding_length", UINT32_MAX); }, kWrong,
                 "expected at most"},
        BadModel{"LeadingDense", [](Recipe* r) { r->Key("leading_dense_block_count", 1); }, kWrong,
                 "leading_dense_block_count is 1"},
        BadModel{"RouterWithoutExperts",
                 [](Recipe* r) {
                   r->Key("block_count", 2);
                   r->tensor("blk.1.ffn_gate_inp.weight").ne = {64, 4};
                 },
                 kWrong, "blk.1 has a router"},
        BadModel{"UpOfAnotherShape",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_up_exps.weight").ne = {64, 64, 4};
                 },
                 kWrong, "the outputs of up is 64: expected 32"},
        BadModel{"ExpertsDiffer",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_down_exps.weight").ne = {32, 64, 5};
                 },
                 kWrong, "the number of experts is 5: expected 4"},
        BadModel{"TwoDimensions",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_down_exps.weight").ne = {32, 64};
                 },
                 kWrong, "expected inputs x outputs x experts"},
        BadModel{"NoWholeBlocks",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_up_exps.weight").ne = {60, 32, 4};
                 },
                 kWrong, "blk.0.ffn_up_exps.weight"},
        BadModel{"Truncated", [](Recipe* r) { r->cut = 100; }, StatusCode::kDataLoss, "truncated"},
        BadModel{"BiasShape",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_up_exps.bias").ne = {31, 4};
                 },
                 kWrong, "expected 32 x 4"},
        BadModel{"BiasType",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_up_exps.bias").ne = {32, 4};
                   r->tensor("blk.0.ffn_up_exps.bias").type = 8;
                 },
                 StatusCode::kUnimplemented, "expected F32, F16 or BF16"},
        BadModel{"ScaleShape", [](Recipe* r) { r->tensor("blk.0.ffn_down_exps.scale").ne = {5}; },
                 kWrong, "shape 5: expected 4"},
        BadModel{"InputScaleShape",
                 [](Recipe* r) { r->tensor("blk.0.ffn_down_exps.input_scale").ne = {5}; }, kWrong,
                 "input_scale"},
        BadModel{"UnknownPart", [](Recipe* r) { r->tensor("blk.0.ffn_down_exps.zero").ne = {4}; },
                 StatusCode::kUnimplemented, "ffn_down_exps.zero"},
        BadModel{"OrphanedBias",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_gate_up_exps.bias").ne = {64, 4};
                 },
                 kWrong, "belongs to a weight that the layer has not"},
        BadModel{"OneTensorPerExpert",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_gate.3.weight").ne = {64, 32};
                 },
                 StatusCode::kUnimplemented, "one tensor per expert"},
        BadModel{"Dense",
                 [](Recipe* r) {
                   r->tensors = {{"blk.0.ffn_up.weight", 0, {64, 32}}};
                 },
                 kWrong, "a dense model"},
        BadModel{"UnknownArchitecture", [](Recipe* r) { r->architecture = "qwen9moe"; },
                 StatusCode::kNotFound, "qwen9moe"},
        BadModel{"NoArchitecture", [](Recipe* r) { r->architecture = ""; }, kWrong,
                 "general.architecture is absent"},
        BadModel{"PackTensorOfNoPack",
                 [](Recipe* r) {
                   r->tensor("blk.0.ffn_exps.pack").ne = {4096, 4};
                 },
                 kWrong, "berth.pack.version is absent"}),
    [](const auto& info) { return info.param.name; });

TEST(Catalog, TheRecipeItselfIsRight) {
  const TempDir dir;
  Recipe recipe;
  recipe.tensor("blk.0.ffn_up_exps.input_scale").ne = {4};
  recipe.tensor("blk.0.ffn_gate_shexp.weight").ne = {64, 32};
  recipe.tensor("blk.0.ffn_gate_inp.weight").ne = {64, 4};
  const auto catalog = Catalog::Open(Write(dir, recipe));
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  EXPECT_TRUE((*catalog)->layer(0).spec.up_sibling.scale.empty());
  EXPECT_GT((*catalog)->resident_bytes(), 4 * 3 * sizeof(Extent));
}

TEST(Catalog, OptionalMetadataComesFromShapes) {
  const TempDir dir;
  Recipe recipe;
  for (const char* key :
       {"block_count", "embedding_length", "expert_count", "expert_feed_forward_length"}) {
    recipe.DropKey(key);
  }
  recipe.tensor("blk.1.attn_norm.weight").ne = {64};
  const auto catalog = Catalog::Open(Write(dir, recipe));
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  EXPECT_EQ((*catalog)->hidden(), 64u);
  EXPECT_EQ((*catalog)->experts(), 4u);
  EXPECT_EQ((*catalog)->layer(0).spec.ffn, 32u);
  EXPECT_EQ((*catalog)->dense_layers(), 1u);
}

TEST(Catalog, GatelessArchitecture) {
  const TempDir dir;
  Recipe recipe;
  recipe.architecture = "nemotron_h_moe";
  const std::string path = Write(dir, recipe);
  EXPECT_NE(Catalog::Open(path).status().message().find("expected 2 (up, down)"),
            std::string::npos);
  recipe.Drop("blk.0.ffn_gate_exps.weight");
  const auto catalog = Catalog::Open(Write(dir, recipe));
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  EXPECT_EQ((*catalog)->extents(1).size(), 2u);
  EXPECT_EQ((*catalog)->layer(0).spec.gate.rows, 0u);
}

TEST(Catalog, ConventionsByHand) {
  const TempDir dir;
  Recipe recipe;
  recipe.architecture = "qwen9moe";
  const std::string path = Write(dir, recipe);
  const auto catalog = Catalog::Open(path, {.conventions = "gelu-gate"});
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  EXPECT_EQ((*catalog)->layer(0).spec.conventions.activation, kernels::Activation::kGeluGate);
  EXPECT_EQ(Catalog::Open(path, {.conventions = "gelu-gte"}).status().code(), kWrong);
}

TEST(Catalog, SiblingsOfEveryTypeAreF32) {
  const TempDir dir;
  // 1.5 in each type, little-endian.
  const std::vector<std::pair<uint32_t, std::string>> types = {{0, std::string("\0\0\xc0\x3f", 4)},
                                                               {1, std::string("\0\x3e", 2)},
                                                               {30, std::string("\xc0\x3f", 2)}};
  for (const auto& [type, one] : types) {
    Recipe recipe;
    recipe.tensors.push_back({"blk.0.ffn_up_exps.scale", type, {4}});
    const std::string path = Write(dir, recipe);
    std::string bytes = testing::ReadFile(path);
    const auto file = io::ReadGguf(path);
    for (size_t i = 0; i < 4; ++i) {
      bytes.replace(file->tensors.back().offset + i * one.size(), one.size(), one);
    }
    WriteFile(path, bytes);
    const auto catalog = Catalog::Open(path);
    ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
    EXPECT_EQ((*catalog)->layer(0).spec.up_sibling.scale, std::vector<float>(4, 1.5f)) << type;
    // A value that is not finite is refused.
    bytes[file->tensors.back().offset + one.size() - 2] = '\xff';
    bytes[file->tensors.back().offset + one.size() - 1] = '\x7f';
    WriteFile(path, bytes);
    EXPECT_EQ(Catalog::Open(path).status().code(), kWrong) << type;
  }
}

TEST(Sidecar, ForeignDamagedAndStaleOnesAreRefused) {
  const TempDir dir;
  const std::string path = Write(dir, Recipe());
  const auto catalog = Catalog::Open(path);
  ASSERT_TRUE(catalog.ok());
  const std::vector<catalog::UnitSums> sums = {{1}, {2}, {3}, {4}};
  const std::string good = catalog::EncodeSidecar(**catalog, sums);
  const std::string sidecar = catalog::SidecarPath(**catalog);
  WriteFile(sidecar, good);
  const auto with = Catalog::Open(path);
  ASSERT_TRUE(with.ok()) << with.status().ToString();
  ASSERT_TRUE((*with)->has_checksums());
  EXPECT_EQ((*with)->checksum(2), 3u);
  for (size_t length = 0; length < good.size(); ++length) {
    WriteFile(sidecar, good.substr(0, length));
    EXPECT_EQ(Catalog::Open(path).status().code(), StatusCode::kDataLoss) << length;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] ^= 1;
    WriteFile(sidecar, changed);
    EXPECT_EQ(Catalog::Open(path).status().code(), StatusCode::kDataLoss) << at;
  }
  WriteFile(sidecar, good + "x");
  EXPECT_FALSE(Catalog::Open(path).ok());
  EXPECT_TRUE(Catalog::Open(path, {.ignore_sidecar = true}).ok());
  // Right in itself, but the model has become another.
  WriteFile(sidecar, good);
  std::string longer = testing::ReadFile(path) + std::string(32, '\0');
  WriteFile(path, longer);
  const Status stale = Catalog::Open(path).status();
  EXPECT_EQ(stale.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(stale.message().find("another state"), std::string::npos);
}

}  // namespace
}  // namespace berth
