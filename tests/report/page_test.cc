// Whatever a page says, it stays one file of text and data.
#include "runtime/report/page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/report/assets.h"
#include "runtime/report/html.h"
#include "runtime/report/page_file.h"
#include "tests/temporary_directory.h"

namespace berth::report {
namespace {

using nlohmann::json;
using testing::TemporaryDirectory;

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class PageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CheckPagesWork().ok()) GTEST_SKIP() << "built without Chart.js";
  }
};

TEST(Html, TextStaysText) {
  EXPECT_EQ(EscapeHtml("<b a='1' c=\"2\">&\n\x7f"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;  ");
  EXPECT_EQ(EscapeHtml("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  HtmlTable table("a <caption>", {"x", "<y>"});
  table.AddRow({"</td>", "1"});
  EXPECT_NE(table.ToString().find("<th scope=\"col\">&lt;y&gt;</th>"), std::string::npos);
  EXPECT_NE(table.ToString().find("<th scope=\"row\">&lt;/td&gt;</th><td>1</td>"),
            std::string::npos);
}

TEST(Html, DataStaysDataAndIsEqual) {
  const json data = {{"end", "</script><!--<script>&"},
                     {"lines", "\xe2\x80\xa8 \xe2\x80\xa9 \n"},
                     {"number", 9007199254740991},
                     {"<key>", {1, 2.5, nullptr, true}}};
  const std::string text = ScriptJson(data);
  for (const char c : text) {
    EXPECT_GE(c, ' ');
    EXPECT_EQ(std::string("<>&").find(c), std::string::npos);
  }
  EXPECT_EQ(json::parse(text), data);
  // What is no UTF-8 is replaced.
  EXPECT_EQ(ScriptJson("\xff"), "\"\\ufffd\"");
}

TEST(Html, Base64AsItsStandardHasIt) {
  // RFC 4648, section 10.
  const std::pair<const char*, const char*> cases[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}};
  for (const auto& [plain, coded] : cases) {
    const std::string text = plain;
    EXPECT_EQ(Base64(std::vector<uint8_t>(text.begin(), text.end())), coded);
  }
  EXPECT_EQ(Base64(std::vector<uint8_t>{255, 239, 190}), "/+++");
}

TEST_F(PageTest, HostileTextOpensNoElement) {
  Page page;
  page.title = "</title><script>alert(1)</script>";
  page.body = "<p>" + EscapeHtml("</body><script src=x>") + "</p>\n";
  page.data.emplace_back("data", json{{"x", "</script><script>alert(2)</script>"}});
  page.script = "'use strict';";
  const Result<std::string> html = RenderPage(page);
  ASSERT_TRUE(html.ok()) << html.status().ToString();
  // One of data, three of code; each ends once.
  EXPECT_EQ(CountOf(*html, "<script"), 4u);
  EXPECT_EQ(CountOf(*html, "</script"), 4u);
  EXPECT_EQ(CountOf(*html, "<title>"), 1u);
  EXPECT_EQ(CountOf(*html, "</body"), 1u);
}

TEST_F(PageTest, LoadsNothing) {
  Page page;
  page.script = CurveScript();
  const Result<std::string> html = RenderPage(page);
  ASSERT_TRUE(html.ok());
  EXPECT_NE(html->find("default-src 'none'"), std::string::npos);
  for (const char* load : {" src=", " href=", "@import", "url(", "XMLHttpRequest", "fetch(",
                           "import(", "WebSocket", "sourceMappingURL"}) {
    EXPECT_EQ(CountOf(*html, load), 0u) << load;
  }
  EXPECT_NE(html->find("Permission is hereby granted"), std::string::npos);
  EXPECT_NE(html->find("Chart.js v"), std::string::npos);
}

TEST_F(PageTest, FilesAppearWholeOrNotAtAll) {
  const TemporaryDirectory folder;
  const std::string path = folder / "page.html";
  {
    Result<PageFile> file = PageFile::Open(path, {}, false);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(file->Write("one").ok());
  }
  EXPECT_EQ(PageFile::Open(path, {}, false).status().code(), StatusCode::kFailedPrecondition);
  const std::vector<std::string> inputs = {path};
  EXPECT_EQ(PageFile::Open(path, inputs, true).status().code(), StatusCode::kInvalidArgument);
  Result<PageFile> again = PageFile::Open(path, {}, true);
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE(again->Write("two").ok());
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "two");
  for (const std::string& wrong :
       {std::string(), std::string("-"), folder / "no/page.html", folder.path().string()}) {
    EXPECT_FALSE(PageFile::Open(wrong, {}, true).ok()) << wrong;
  }
}

}  // namespace
}  // namespace berth::report
