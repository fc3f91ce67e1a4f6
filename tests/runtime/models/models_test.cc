// Whole models: made, packed, verified, killed, flipped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "io/gguf/gguf_shards.h"
#include "runtime/base/hash.h"
#include "runtime/catalog/catalog.h"
#include "runtime/pack/layer_types.h"
#include "runtime/pack/make_model.h"
#include "runtime/pack/pack.h"
#include "runtime/pack/unit_batch.h"
#include "runtime/pack/verify.h"
#include "tests/io/gguf/test_files.h"

namespace berth::models {
namespace {

using testing::FlipByte;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

std::string Data(const std::string& name) { return std::string(BERTH_TEST_DATA) + "/" + name; }

MakeModelOptions Small(const std::string& output) {
  MakeModelOptions options;
  options.output = output;
  options.types = "iq3_s+iq4_nl,iq2_s+q2_0";
  options.layers = 2;
  options.experts = 4;
  options.top_k = 2;
  options.hidden = 256;
  options.ffn = 256;
  return options;
}

void Make(const MakeModelOptions& options) {
  const auto report = MakeModel(options, nullptr);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
}

VerifyReport Verify(const VerifyOptions& options) {
  const auto report = VerifyModel(options, nullptr);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? *report : VerifyReport();
}

TEST(LayerTypes, EveryWayToSayIt) {
  auto types = ParseLayerTypes("iq3_s+iq4_nl", 3);
  ASSERT_TRUE(types.ok()) << types.status().ToString();
  EXPECT_EQ((*types)[2].up->type, TensorType::kIQ3_S);
  types = ParseLayerTypes("2:Q8_0+q8_0,0-1:q4_K+q5_K+q6_K", 3);
  ASSERT_TRUE(types.ok()) << types.status().ToString();
  EXPECT_EQ((*types)[1].gate->type, TensorType::kQ4_K);
  EXPECT_EQ((*types)[1].up->type, TensorType::kQ5_K);
  EXPECT_EQ((*types)[1].down->type, TensorType::kQ6_K);
  EXPECT_EQ((*types)[2].down->type, TensorType::kQ8_0);
  types = ParseLayerTypes("q8_0+q8_0,q4_0+q4_0", 3);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[0].up->type, TensorType::kQ8_0);
  EXPECT_EQ((*types)[1].up->type, TensorType::kQ4_0);
  for (const char* bad :
       {"", "q8_0", "q8_0+q9_0", "0-1:q8_0+q8_0", "0-2:q8_0+q8_0,1:q8_0+q8_0", "0-9:q8_0+q8_0",
        "x:q8_0+q8_0", "2-1:q8_0+q8_0", "a+b+c+d", "q8_0+q8_0,q8_0+q8_0,q8_0+q8_0,q8_0+q8_0"}) {
    EXPECT_FALSE(ParseLayerTypes(bad, 3).ok()) << bad;
  }
}

TEST(MakeModel, BytesFollowFromTheSeedAlone) {
  const TempDir dir;
  MakeModelOptions options = Small(dir.File("a.gguf"));
  options.biases = options.scales = options.shared = true;
  options.threads = 1;
  Make(options);
  options.output = dir.File("b.gguf");
  options.threads = 4;
  Make(options);
  EXPECT_EQ(ReadFile(dir.File("a.gguf")), ReadFile(dir.File("b.gguf")));
  options.output = dir.File("c.gguf");
  options.seed = 2;
  Make(options);
  EXPECT_NE(ReadFile(dir.File("a.gguf")), ReadFile(dir.File("c.gguf")));
}

TEST(MakeModel, MakesWhatWasAskedFor) {
  const TempDir dir;
  MakeModelOptions options = Small(dir.File("m.gguf"));
  options.files = 3;
  options.dense_layers = 2;
  options.alignment = 4096;
  options.version = 2;
  options.biases = options.scales = options.shared = true;
  Make(options);
  EXPECT_EQ(dir.Entries(),
            (std::vector<std::string>{"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                      "m-00003-of-00003.gguf"}));
  const auto catalog = Catalog::Open(dir.File("m"));
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  const Catalog& model = **catalog;
  EXPECT_EQ(model.layers(), 2u);
  EXPECT_EQ(model.dense_layers(), 2u);
  EXPECT_EQ(model.layer(0).block, 2u);
  EXPECT_EQ(model.size_classes().size(), 2u);
  EXPECT_EQ(model.layer(1).spec.down_sibling.bias.size(), 4u * 256);
  EXPECT_EQ(model.layer(1).spec.gate_sibling.scale.size(), 4u);
  EXPECT_EQ(model.extents(0)[0].offset % 4096, 0u);
  std::set<uint32_t> files;
  for (UnitIndex unit = 0; unit < model.units(); ++unit) {
    for (const Extent& extent : model.extents(unit)) files.insert(extent.file);
  }
  EXPECT_GT(files.size(), 1u);
}

TEST(MakeModel, ShardsOfTwoModelsAreNoModel) {
  const TempDir dir, other;
  MakeModelOptions options = Small(dir.File("m.gguf"));
  options.files = 2;
  Make(options);
  ASSERT_TRUE(Catalog::Open(dir.File("m")).ok());
  options.output = other.File("m.gguf");
  options.seed = 2;
  Make(options);
  const std::string second = "m-00002-of-00002.gguf";
  WriteFile(dir.File(second), ReadFile(other.File(second)));
  Status status = Catalog::Open(dir.File("m")).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(second + ": belongs to another model"), std::string::npos)
      << status.message();
  // One whose set is not known is none of the set either.
  std::string bytes = ReadFile(dir.File("m-00001-of-00002.gguf"));
  bytes.replace(bytes.find("berth.split.set"), 15, "other.split.set");
  WriteFile(dir.File("m-00001-of-00002.gguf"), bytes);
  status = Catalog::Open(dir.File("m")).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST(MakeModel, FusedAndGateless) {
  const TempDir dir;
  MakeModelOptions options = Small(dir.File("f.gguf"));
  options.architecture = "gemma4";
  options.fused = options.biases = true;
  Make(options);
  auto catalog = Catalog::Open(options.output);
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  EXPECT_EQ((*catalog)->layer(0).extent_count, 2u);
  const auto& spec = (*catalog)->layer(0).spec;
  EXPECT_EQ(spec.gate_sibling.bias.size(), 4u * 256);
  EXPECT_NE(spec.gate_sibling.bias, spec.up_sibling.bias);
  options = Small(dir.File("g.gguf"));
  options.architecture = "nemotron_h_moe";
  Make(options);
  catalog = Catalog::Open(options.output);
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  EXPECT_EQ((*catalog)->layer(0).extent_count, 2u);
}

TEST(MakeModel, RefusesWhatCannotBe) {
  const TempDir dir;
  const auto refused = [&](auto change) {
    MakeModelOptions options = Small(dir.File("m.gguf"));
    change(&options);
    const Status status = MakeModel(options, nullptr).status();
    EXPECT_TRUE(dir.Entries().empty());
    return std::string(status.message());
  };
  EXPECT_NE(refused([](auto* o) { o->hidden = 250; }).find("250"), std::string::npos);
  EXPECT_NE(refused([](auto* o) { o->top_k = 5; }), "");
  EXPECT_NE(refused([](auto* o) { o->layers = 0; }), "");
  EXPECT_NE(refused([](auto* o) { o->alignment = 48; }), "");
  EXPECT_NE(refused([](auto* o) { o->version = 1; }), "");
  EXPECT_NE(refused([](auto* o) { o->files = 99; }), "");
  EXPECT_NE(refused([](auto* o) { o->architecture = "qwen9moe"; }), "");
  EXPECT_NE(refused([](auto* o) { o->types = "iq3_s+iq9_nl"; }), "");
  EXPECT_NE(refused([](auto* o) {
              o->fused = true;
              o->types = "q8_0+q4_0+q8_0";
            }),
            "");
}

class PackTest : public ::testing::TestWithParam<std::string> {
 protected:
  // A path to a model of the parameter's kind.
  std::string Model() {
    if (GetParam().starts_with("tiny-")) return Data(GetParam() + ".gguf");
    MakeModelOptions options = Small(dir_.File("m.gguf"));
    options.files = 2;
    options.dense_layers = 1;
    options.biases = options.scales = options.shared = true;
    Make(options);
    return dir_.File("m");
  }
  TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Models, PackTest,
                         ::testing::Values("tiny-fused-gate-up", "tiny-gptoss-like", "made"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(PackTest, AUnitIsOneAlignedReadLaidOutAsOnACard) {
  const std::string model = Model();
  const std::string path = dir_.File("pack.gguf");
  ASSERT_TRUE(PackModel({.model = model, .output = path}, nullptr).ok());
  const auto pack = Catalog::Open(path);
  const auto source = Catalog::Open(model);
  ASSERT_TRUE(pack.ok()) << pack.status().ToString();
  EXPECT_TRUE((*pack)->is_pack());
  ASSERT_TRUE((*pack)->has_checksums());
  EXPECT_EQ((*pack)->dense_layers(), (*source)->dense_layers());
  const std::string packed = ReadFile(path);
  for (UnitIndex unit = 0; unit < (*pack)->units(); ++unit) {
    ASSERT_EQ((*pack)->extents(unit).size(), 1u);
    const Extent& whole = (*pack)->extents(unit)[0];
    EXPECT_EQ(whole.offset % 4096, 0u);
    EXPECT_EQ(whole.card_offset, 0u);
    EXPECT_EQ((*pack)->checksum(unit), Hash64(packed.data() + whole.offset, whole.bytes));
    for (const Extent& part : (*source)->extents(unit)) {
      const std::string file = ReadFile((*source)->files()[part.file].path);
      EXPECT_EQ(file.substr(part.offset, part.bytes),
                packed.substr(whole.offset + part.card_offset, part.bytes));
    }
    const uint32_t layer = (*pack)->ref(unit).layer;
    EXPECT_EQ((*pack)->layer(layer).spec.unit_bytes, (*source)->layer(layer).spec.unit_bytes);
  }
}

TEST_P(PackTest, CarriesEverythingElseOver) {
  const std::string model = Model();
  const std::string path = dir_.File("pack.gguf");
  ASSERT_TRUE(PackModel({.model = model, .output = path}, nullptr).ok());
  const auto pack = io::ReadGguf(path);
  const auto source = io::ReadGgufShards(model);
  ASSERT_TRUE(pack.ok());
  const std::string packed = ReadFile(path);
  size_t carried = 0;
  for (const io::GgufFile& file : source->files) {
    const std::string bytes = ReadFile(file.path);
    for (const io::GgufKeyValue& entry : file.metadata) {
      if (entry.key == "general.alignment" || entry.key.starts_with("split.") ||
          entry.key == "berth.split.set") {
        continue;
      }
      const io::GgufKeyValue* kept = pack->Find(entry.key);
      ASSERT_NE(kept, nullptr) << entry.key;
      EXPECT_EQ(bytes.substr(entry.entry_offset, entry.entry_bytes),
                packed.substr(kept->entry_offset, kept->entry_bytes));
    }
    for (const io::GgufTensor& tensor : file.tensors) {
      for (const io::GgufTensor& kept : pack->tensors) {
        if (kept.name != tensor.name) continue;
        ++carried;
        EXPECT_EQ(kept.type, tensor.type);
        EXPECT_EQ(kept.ne, tensor.ne);
        const uint64_t size = std::min(kept.room_bytes, tensor.room_bytes);
        EXPECT_EQ(bytes.substr(tensor.offset, std::min<uint64_t>(size, 64)),
                  packed.substr(kept.offset, std::min<uint64_t>(size, 64)));
      }
    }
  }
  EXPECT_EQ(carried > 0, GetParam() != "tiny-fused-gate-up");
}

TEST_P(PackTest, AFlippedByteInAnyTensorIsNamed) {
  const std::string model = Model();
  const std::string path = dir_.File("pack.gguf");
  ASSERT_TRUE(PackModel({.model = model, .output = path}, nullptr).ok());
  EXPECT_EQ(Verify({.model = path}).bad_units, 0u);
  EXPECT_EQ(Verify({.model = path, .source = model}).bad_units, 0u);
  const auto pack = Catalog::Open(path);
  const UnitIndex unit = (*pack)->units() - 1;
  for (const UnitPart& part : PartsOf(**pack, (*pack)->ref(unit).layer)) {
    for (uint64_t at : {uint64_t{0}, part.bytes / 2, part.bytes - 1}) {
      const uint64_t offset = (*pack)->extents(unit)[0].offset + part.card_offset + at;
      FlipByte(path, offset);
      const VerifyReport sums = Verify({.model = path});
      const VerifyReport compared = Verify({.model = path, .source = model});
      FlipByte(path, offset);
      ASSERT_EQ(sums.bad_units, 1u);
      const std::string tensor = (*pack)->Describe(unit) + ": " +
                                 std::string(TensorRoleName(part.role)) + " at " + path + " byte " +
                                 std::to_string(offset - at);
      EXPECT_TRUE(sums.findings[0].starts_with(tensor)) << sums.findings[0];
      ASSERT_EQ(compared.bad_units, 1u);
      const std::string expected = (*pack)->Describe(unit) + ": " +
                                   std::string(TensorRoleName(part.role)) + " differs at " + path +
                                   " byte " + std::to_string(offset);
      EXPECT_TRUE(compared.findings[0].starts_with(expected)) << compared.findings[0];
    }
  }
  EXPECT_EQ(Verify({.model = path}).bad_units, 0u);
}

TEST(Sidecar, FindsAFlippedByteOfAPlainModel) {
  const TempDir dir;
  const std::string path = dir.File("m.gguf");
  Make(Small(path));
  EXPECT_EQ(VerifyModel({.model = path}, nullptr).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Verify({.model = path, .write = true}).written, path + ".berth-sums");
  EXPECT_EQ(VerifyModel({.model = path, .write = true}, nullptr).status().code(),
            StatusCode::kFailedPrecondition);
  const auto catalog = Catalog::Open(path);
  ASSERT_TRUE((*catalog)->has_checksums());
  for (const Extent& extent : (*catalog)->extents(5)) {
    FlipByte(path, extent.offset + extent.bytes - 1);
    const VerifyReport report = Verify({.model = path});
    EXPECT_EQ(report.bad_units, 1u);
    EXPECT_NE(report.findings[0].find("blk.1 expert 1 (unit 5)"), std::string::npos);
    EXPECT_NE(report.findings[0].find(std::string(TensorRoleName(extent.role)) + " at " + path +
                                      " byte " + std::to_string(extent.offset)),
              std::string::npos)
        << report.findings[0];
    // Packing it would carry the fault over.
    EXPECT_EQ(PackModel({.model = path, .output = dir.File("p.gguf")}, nullptr).status().code(),
              StatusCode::kDataLoss);
    FlipByte(path, extent.offset + extent.bytes - 1);
  }
  EXPECT_EQ(Verify({.model = path, .write = true, .replace = true}).bad_units, 0u);
}

TEST(Verify, AnotherModelIsNotCompared) {
  const TempDir dir;
  Make(Small(dir.File("a.gguf")));
  MakeModelOptions other = Small(dir.File("b.gguf"));
  other.types = "q8_0+q8_0";
  Make(other);
  ASSERT_TRUE(PackModel({.model = dir.File("a.gguf"), .output = dir.File("p.gguf")}, nullptr).ok());
  EXPECT_EQ(VerifyModel({.model = dir.File("p.gguf"), .source = dir.File("b.gguf")}, nullptr)
                .status()
                .code(),
            StatusCode::kFailedPrecondition);
  // The same geometry from another seed: every unit differs, the first ones are listed.
  other = Small(dir.File("c.gguf"));
  other.seed = 9;
  Make(other);
  const VerifyReport report = Verify({.model = dir.File("p.gguf"), .source = dir.File("c.gguf")});
  EXPECT_EQ(report.bad_units, 8u);
  EXPECT_EQ(report.findings.size(), 8u);
}

TEST(Pack, RefusesToReplaceTheModelOrAPack) {
  const TempDir dir;
  const std::string path = dir.File("m.gguf");
  Make(Small(path));
  EXPECT_EQ(PackModel({.model = path, .output = path, .replace = true}, nullptr).status().code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(PackModel({.model = path, .output = dir.File("p.gguf")}, nullptr).ok());
  EXPECT_EQ(PackModel({.model = path, .output = dir.File("p.gguf")}, nullptr).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(PackModel({.model = dir.File("p.gguf"), .output = dir.File("q.gguf")}, nullptr)
                .status()
                .code(),
            StatusCode::kFailedPrecondition);
}

TEST(Pack, ATruncatedPackIsRefused) {
  const TempDir dir;
  const std::string path = dir.File("p.gguf");
  ASSERT_TRUE(PackModel({.model = Data("tiny-fused-gate-up.gguf"), .output = path}, nullptr).ok());
  const std::string whole = ReadFile(path);
  for (size_t length = 0; length + 4096 < whole.size(); length += 4096 * 7 + 13) {
    testing::WriteFile(path, whole.substr(0, length));
    const auto catalog = Catalog::Open(path);
    ASSERT_FALSE(catalog.ok()) << length;
    if (length > 4) {
      EXPECT_EQ(catalog.status().code(), StatusCode::kDataLoss) << catalog.status().ToString();
    }
  }
}

TEST(Pack, FullDriveLeavesNothing) {
  const TempDir dir;
  if (mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "no right to mount a small file system";
  }
  const Status status =
      PackModel({.model = Data("tiny-fused-gate-up.gguf"), .output = dir.File("p.gguf")}, nullptr)
          .status();
  const std::vector<std::string> left = dir.Entries();
  umount(dir.path().c_str());
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.message();
  EXPECT_TRUE(left.empty());
}

TEST(Pack, FileSizeLimitLeavesNothing) {
  const TempDir dir;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const bool done =
        PackModel({.model = Data("tiny-fused-gate-up.gguf"), .output = dir.File("p.gguf")}, nullptr)
            .ok();
    _exit(done ? 1 : 0);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(dir.Entries().empty());
}

// Killed at any moment a pack leaves nothing, or a whole file.
TEST(Pack, KilledAtAnyMoment) {
  const TempDir dir;
  const std::string model = Data("tiny-gptoss-like.gguf");
  const std::string path = dir.File("p.gguf");
  std::mt19937 random(7);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(PackModel({.model = model, .output = path}, nullptr).ok());
  const auto whole = std::chrono::steady_clock::now() - begin;
  const std::string expected = ReadFile(path);
  int missing = 0;
  int present = 0;
  for (int round = 0; round < 24; ++round) {
    std::filesystem::remove(path);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      _exit(PackModel({.model = model, .output = path}, nullptr).ok() ? 0 : 1);
    }
    // Up to half as long again as one takes; the last rounds wait for the end.
    if (round < 20) std::this_thread::sleep_for(whole * (random() % 1500) / 1000);
    if (round < 20) kill(child, SIGKILL);
    int result = 0;
    ASSERT_EQ(waitpid(child, &result, 0), child);
    if (std::filesystem::exists(path)) {
      ++present;
      ASSERT_EQ(ReadFile(path), expected) << "round " << round;
    } else {
      ++missing;
    }
    for (const std::string& name : dir.Entries()) EXPECT_EQ(name, "p.gguf");
  }
  // The test means something only if both ends were seen.
  EXPECT_GT(present, 0);
  EXPECT_GT(missing, 0);
}

}  // namespace
}  // namespace berth::models
