#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/csv/layer_expert_csv.h"
#include "io/csv/line_reader.h"
#include "io/csv/route_csv.h"

namespace berth::io {
namespace {

std::unique_ptr<ByteSource> Text(const std::string& text) {
  return std::make_unique<MemorySource>("t.csv", std::as_bytes(std::span<const char>(text)));
}

TEST(LineReaderTest, GivesLinesAcrossWindows) {
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 5000; ++i) {
    expected.push_back(std::string(static_cast<size_t>(i % 97), 'a') + std::to_string(i));
    text += expected.back() + (i % 2 == 0 ? "\n" : "\r\n");
  }
  expected.push_back("no newline at the end");
  text += expected.back();
  LineReader reader(Text(text));
  std::string_view line;
  for (const std::string& wanted : expected) {
    auto more = reader.Next(&line);
    ASSERT_TRUE(more.ok() && *more);
    ASSERT_EQ(line, wanted);
  }
  EXPECT_FALSE(*reader.Next(&line));
  EXPECT_EQ(reader.line(), expected.size());
}

TEST(LineReaderTest, AByteOrderMarkIsNoText) {
  const std::string text = "\xEF\xBB\xBFlayer\n\xEF\xBB\xBFx";
  LineReader reader(Text(text));
  std::string_view line;
  EXPECT_TRUE(*reader.Next(&line));
  EXPECT_EQ(line, "layer");
  EXPECT_TRUE(*reader.Next(&line));
  EXPECT_EQ(line, "\xEF\xBB\xBFx");  // at the beginning of the file only
}

TEST(LineReaderTest, LinesHaveALimit) {
  std::string_view line;
  const std::string longest(LineReader::kMaxLineBytes, 'x');
  const std::string fits = longest + "\ny";
  LineReader good(Text(fits));
  EXPECT_TRUE(*good.Next(&line));
  EXPECT_EQ(line.size(), LineReader::kMaxLineBytes);
  EXPECT_TRUE(*good.Next(&line));
  const std::string endless = std::string(3 * LineReader::kMaxLineBytes, 'x');
  LineReader bad(Text(endless));
  EXPECT_EQ(bad.Next(&line).status().code(), StatusCode::kInvalidArgument);
}

TEST(LayerExpertCsvTest, ReadsAccesses) {
  const std::string text = "# made by hand\nlayer,expert\n0,7\n1,4294967295\n# between\n0,0";
  auto csv = LayerExpertCsv::Open(Text(text));
  ASSERT_TRUE(csv.ok()) << csv.status().ToString();
  LayerExpert access;
  std::vector<std::pair<uint32_t, uint32_t>> found;
  while (true) {
    auto more = (*csv)->Next(&access);
    ASSERT_TRUE(more.ok()) << more.status().ToString();
    if (!*more) break;
    found.emplace_back(access.layer, access.expert);
  }
  EXPECT_EQ(found, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 7}, {1, 4294967295u}, {0, 0}}));
}

TEST(LayerExpertCsvTest, NamesTheLineThatIsWrong) {
  for (const char* bad : {"", "1", "1,", ",1", "1,2,3", "-1,2", "1,2 ", "1.5,2", "1,4294967296",
                          "1;2", "a,b", "0x1,2"}) {
    const std::string text = std::string("layer,expert\n0,0\n") + bad + "\n";
    auto csv = LayerExpertCsv::Open(Text(text));
    ASSERT_TRUE(csv.ok());
    LayerExpert access;
    ASSERT_TRUE((*csv)->Next(&access).ok());
    const Status status = (*csv)->Next(&access).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_TRUE(status.message().starts_with("t.csv:3: ")) << status.ToString();
  }
  for (const char* bad : {"", "expert,layer\n0,0\n", "0,0\n", "# only\n"}) {
    const std::string text = bad;
    EXPECT_FALSE(LayerExpertCsv::Open(Text(text)).ok()) << bad;
  }
  const std::string binary("layer,expert\n0,\0\n", 16);
  LayerExpert access;
  EXPECT_FALSE((*LayerExpertCsv::Open(Text(binary)))->Next(&access).ok());
}

const char kRouteHead[] =
    "# route_trace v1\n"
    "# model=/models/two words.gguf arch=some n_layer=3 n_expert=8 n_expert_used=2\n"
    "# layer=1 expert_bytes=4096 dense_bytes=10\n"
    "# layer=2 expert_bytes=8192 dense_bytes=20\n";
const char kRouteColumns[] = "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n";

TEST(RouteCsvTest, ReadsHeaderAndRecords) {
  const std::string text =
      std::string(kRouteHead) + kRouteColumns + "0,0,0,1,0,7,0.75,0,4096\n0,1,5,2,1,0,1e-3,1,0\n";
  auto csv = RouteCsv::Open(Text(text));
  ASSERT_TRUE(csv.ok()) << csv.status().ToString();
  const RouteHeader& header = (*csv)->header();
  EXPECT_EQ(header.model, "/models/two words.gguf");
  EXPECT_EQ(header.architecture, "some");
  EXPECT_EQ(header.experts, 8u);
  EXPECT_EQ(header.top_k, 2u);
  ASSERT_EQ(header.layers.size(), 3u);
  EXPECT_FALSE(header.layers[0].stated);
  EXPECT_EQ(header.layers[2].expert_bytes, 8192u);
  RouteRecord record;
  ASSERT_TRUE(*(*csv)->Next(&record));
  ASSERT_TRUE(*(*csv)->Next(&record));
  EXPECT_EQ(record.phase, 1u);
  EXPECT_EQ(record.step, 5u);
  EXPECT_EQ(record.layer, 2u);
  EXPECT_EQ(record.weight, 1e-3f);
  EXPECT_EQ(record.residency, 1u);
  EXPECT_FALSE(*(*csv)->Next(&record));
}

TEST(RouteCsvTest, NamesTheLineThatIsWrong) {
  RouteRecord record;
  for (const char* bad : {"0,0,0,1,0,7,0.75,0", "0,0,0,1,0,7,0.75,0,4096,1", "0,0,0,1,0,7,x,0,1",
                          "0,0,0,1,0,7,nan,0,1", "", "# late", "0,0,0,-1,0,7,0.5,0,1"}) {
    const std::string text = std::string(kRouteHead) + kRouteColumns + bad + "\n";
    auto csv = RouteCsv::Open(Text(text));
    ASSERT_TRUE(csv.ok());
    const Status status = (*csv)->Next(&record).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_TRUE(status.message().starts_with("t.csv:6: ")) << status.ToString();
  }
  for (const char* bad : {"0,0,0,3,0,7,0.5,0,1", "0,0,0,1,2,7,0.5,0,1", "0,0,0,1,0,8,0.5,0,1"}) {
    const std::string text = std::string(kRouteHead) + kRouteColumns + bad + "\n";
    auto csv = RouteCsv::Open(Text(text));
    ASSERT_TRUE(csv.ok());
    EXPECT_EQ((*csv)->Next(&record).status().code(), StatusCode::kOutOfRange) << bad;
  }
}

TEST(RouteCsvTest, RefusesHeadersThatContradict) {
  const std::string head = kRouteHead;
  const std::string model = "# model=m arch=a n_layer=3 n_expert=8 n_expert_used=2\n";
  for (const std::string& text : std::vector<std::string>{
           "", head, kRouteColumns, std::string("# route_trace v2\n") + kRouteColumns,
           std::string("# route_trace v1\n") + kRouteColumns, head + "turn,step\n",
           head + model + kRouteColumns,
           head + "# layer=1 expert_bytes=1 dense_bytes=1\n" + kRouteColumns,
           head + "# layer=3 expert_bytes=1 dense_bytes=1\n" + kRouteColumns,
           head + "# layer=0 expert_bytes=x dense_bytes=1\n" + kRouteColumns,
           "# route_trace v1\n# model=m arch=a n_layer=3 n_expert=2 n_expert_used=8\n" +
               std::string(kRouteColumns),
           "# route_trace v1\n# model=m arch=a n_layer=4294967295 n_expert=8 n_expert_used=2\n" +
               std::string(kRouteColumns)}) {
    EXPECT_EQ(RouteCsv::Open(Text(text)).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

// Published traces, where they are at hand.
TEST(RouteCsvTest, ReadsPublishedTraces) {
  for (const char* name : {"gemma.route.csv", "gptoss.route.csv"}) {
    const std::string path = std::string(BERTH_SHARED_DATA) + "/traces/" + name;
    auto source = FileSource::Open(path);
    if (!source.ok()) GTEST_SKIP() << path << " is not at hand";
    auto csv = RouteCsv::Open(std::move(*source));
    ASSERT_TRUE(csv.ok()) << csv.status().ToString();
    RouteRecord record;
    uint64_t records = 0;
    while (true) {
      auto more = (*csv)->Next(&record);
      ASSERT_TRUE(more.ok()) << more.status().ToString();
      if (!*more) break;
      ++records;
    }
    EXPECT_GT(records, 1000u);
  }
}

}  // namespace
}  // namespace berth::io
