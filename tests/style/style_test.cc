#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/style/rules.h"
#include "tests/temporary_directory.h"

namespace berth::style {
namespace {

std::string Describe(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += finding.file + ":" + std::to_string(finding.line) + ": [" + finding.rule + "] " +
            finding.what + "\n";
  }
  return text;
}

TEST(StyleTest, TheProjectKeepsItsRules) {
  const std::filesystem::path root = BERTH_SOURCE_DIR;
  EXPECT_GT(ReadTree(root).size(), 20u) << "the tree was not found at " << root;
  const std::vector<Finding> findings = CheckTree(root);
  EXPECT_TRUE(findings.empty()) << Describe(findings);
}

// A tree that keeps every rule, to which a test adds what breaks one.
class StyleRuleTest : public ::testing::Test {
 protected:
  StyleRuleTest() {
    Write("runtime/include/berth/status.h", Header("BERTH_STATUS_H_", ""));
    Write("io/storage.h", Header("BERTH_IO_STORAGE_H_", "#include \"berth/status.h\"\n"));
    Write("io/a.cc", "#include \"io/storage.h\"\n\n#include <sys/stat.h>\n\n#include <vector>\n");
    Write("io/CMakeLists.txt", "berth_library(a SOURCES a.cc)\n");
    Write("kernels/device.h", Header("BERTH_KERNELS_DEVICE_H_", ""));
    Write("kernels/other.h", Header("BERTH_KERNELS_OTHER_H_", ""));
  }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = directory_.path() / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }

  static std::string Header(const std::string& guard, const std::string& body) {
    return "#ifndef " + guard + "\n#define " + guard + "\n" + body + "#endif  // " + guard + "\n";
  }

  // Adds a source that the build knows.
  void WriteSource(const std::string& folder, const std::string& name, const std::string& text) {
    Write(folder + "/" + name, text);
    std::ofstream(directory_.path() / folder / "CMakeLists.txt", std::ios::app)
        << "add_library(x_" << name << " " << name << ")\n";
  }

  void ExpectOnly(const std::string& file, const std::string& rule) const {
    const std::vector<Finding> findings = CheckTree(directory_.path());
    ASSERT_EQ(findings.size(), 1u) << Describe(findings);
    EXPECT_EQ(findings[0].file, file);
    EXPECT_EQ(findings[0].rule, rule);
  }

  void ExpectClean() const {
    const std::vector<Finding> findings = CheckTree(directory_.path());
    EXPECT_TRUE(findings.empty()) << Describe(findings);
  }

  const testing::TemporaryDirectory directory_;
};

TEST_F(StyleRuleTest, TheSampleIsClean) { ExpectClean(); }

TEST_F(StyleRuleTest, LowerFoldersMayNotUseHigherOnes) {
  WriteSource("io", "b.cc", "#include \"kernels/device.h\"\n");
  ExpectOnly("io/b.cc", "include");
}

TEST_F(StyleRuleTest, ArenaSeesTheDeviceInterfaceAlone) {
  WriteSource("arena", "b.cc", "#include \"kernels/device.h\"\n");
  ExpectClean();
  WriteSource("arena", "c.cc", "#include \"kernels/other.h\"\n");
  ExpectOnly("arena/c.cc", "include");
}

TEST_F(StyleRuleTest, BaseUsesBaseAlone) {
  WriteSource("runtime/base", "b.cc", "#include \"io/storage.h\"\n");
  ExpectOnly("runtime/base/b.cc", "include");
}

TEST_F(StyleRuleTest, PathsStartAtTheRoot) {
  WriteSource("io", "b.cc", "#include \"storage.h\"\n");
  ExpectOnly("io/b.cc", "include");
}

TEST_F(StyleRuleTest, OutsideLibrariesLiveInTheirPlaces) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"arena", "<liburing.h>"},
      {"io", "<hwloc.h>"},
      {"scheduler", "<tbb/arena.h>"},
      {"kernels", "<oneapi/tbb/task.h>"},
      {"io", "<xxhash.h>"},
      {"runtime/trace", "<toml++/toml.h>"},
      {"runtime/trace", "<CLI/CLI.hpp>"},
      {"policies", "<nlohmann/json.hpp>"},
      {"runtime", "<gtest/gtest.h>"},
      {"io", "<benchmark/benchmark.h>"},
      {"runtime", "<cuda_runtime.h>"},
      {"arena", "<hip/hip_runtime.h>"},
      {"io", "<boost/thing.hpp>"}};
  for (const auto& [folder, header] : wrong) {
    SCOPED_TRACE(folder + " " + header);
    WriteSource(folder, "b.cc", "#include " + header + "\n");
    ExpectOnly(folder + "/b.cc", "include");
    Write(folder + "/b.cc", "\n");
  }
}

TEST_F(StyleRuleTest, PublicHeadersUseTheStandardLibraryAlone) {
  Write("runtime/include/berth/x.h",
        Header("BERTH_X_H_", "#include \"absl/strings/str_cat.h\"\n#include <string>\n"));
  ExpectOnly("runtime/include/berth/x.h", "include");
  Write("runtime/include/berth/x.h", Header("BERTH_X_H_", "#include \"io/storage.h\"\n"));
  ExpectOnly("runtime/include/berth/x.h", "include");
}

TEST_F(StyleRuleTest, OneFileOfIoUsesLiburing) {
  WriteSource("io", "b.cc", "#include <liburing.h>\n");
  ExpectClean();
  WriteSource("io", "c.cc", "#include <liburing.h>\n");
  ExpectOnly("io/c.cc", "one-place");
}

TEST_F(StyleRuleTest, LinesEndAtColumn100) {
  // Umlauts are one column and two bytes.
  std::string umlauts;
  for (int i = 0; i < 97; ++i) umlauts += "\xc3\xbc";
  WriteSource("io", "b.cc", "// " + umlauts + "\n");
  ExpectClean();
  WriteSource("io", "b2.cc", "// " + umlauts + "x\n");
  ExpectOnly("io/b2.cc", "line-length");
}

TEST_F(StyleRuleTest, SpacesOnlyAndNoneAtTheEnd) {
  WriteSource("io", "b.cc", "int\tx;\n");
  ExpectOnly("io/b.cc", "tab");
  Write("io/b.cc", "int x; \n");
  ExpectOnly("io/b.cc", "trailing-space");
  Write("io/b.cc", "int x;\r\n");
  ExpectOnly("io/b.cc", "trailing-space");
  Write("io/b.cc", "int x;");
  ExpectOnly("io/b.cc", "newline");
}

TEST_F(StyleRuleTest, NothingIsLeftForLater) {
  WriteSource("io", "b.cc", std::string("// TO") + "DO: more\n");
  ExpectOnly("io/b.cc", "left-over");
  Write("io/b.cc", std::string("// FIX") + "ME\n");
  ExpectOnly("io/b.cc", "left-over");
}

TEST_F(StyleRuleTest, HeadersHaveTheGuardOfTheirPath) {
  Write("io/x.h", Header("BERTH_IO_Y_H_", ""));
  const std::vector<Finding> findings = CheckTree(directory_.path());
  ASSERT_EQ(findings.size(), 3u) << Describe(findings);
  EXPECT_EQ(findings[0].rule, "header-guard");
  Write("io/x.h", Header("BERTH_IO_X_H_", "#pragma once\n"));
  ExpectOnly("io/x.h", "pragma-once");
}

TEST_F(StyleRuleTest, FilesStayShort) {
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += "\n";
  WriteSource("io", "b.cc", lines);
  ExpectClean();
  Write("io/b.cc", lines + "\n");
  ExpectOnly("io/b.cc", "file-length");
}

TEST_F(StyleRuleTest, TheBuildNamesEverySource) {
  Write("io/dead.cc", "\n");
  ExpectOnly("io/dead.cc", "dead-file");
  // A comment does not name it, nor does another folder.
  Write("io/CMakeLists.txt", "berth_library(a SOURCES a.cc)  # dead.cc\n");
  Write("arena/CMakeLists.txt", "add_library(b dead.cc)\n");
  ExpectOnly("io/dead.cc", "dead-file");
}

TEST_F(StyleRuleTest, TheBuildUsesNoPatterns) {
  Write("arena/CMakeLists.txt", "file( GLOB_RECURSE all *.cc)\n");
  ExpectOnly("arena/CMakeLists.txt", "glob");
}

TEST_F(StyleRuleTest, TheRootHoldsWhatItMay) {
  Write("utils.cc", "\n");
  ExpectOnly("utils.cc", "root");
}

}  // namespace
}  // namespace berth::style
