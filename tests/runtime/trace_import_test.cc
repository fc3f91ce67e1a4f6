#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "berth/types.h"
#include "runtime/trace/import/import.h"
#include "tests/temporary_directory.h"

namespace berth {
namespace {

using testing::TemporaryDirectory;
using Ids = std::vector<int32_t>;

class ImportTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return directory_ / name;
  }

  // A version 1 .npy file of int32.
  std::string WriteNpy(const std::string& name, const std::string& shape, const Ids& ids,
                       bool fortran = false) {
    std::string header = std::string("{'descr': '<i4', 'fortran_order': ") +
                         (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
    std::string bytes = "\x93NUMPY";
    bytes += '\1';
    bytes += '\0';
    bytes += static_cast<char>(header.size());
    bytes += static_cast<char>(header.size() >> 8);
    return Write(name, bytes + header + Words(ids));
  }

  static std::string Words(const Ids& words) {
    const auto bytes = std::as_bytes(std::span(words));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  Result<ImportReport> Import(const std::vector<std::string>& files,
                              const ImportOptions& options = {}) {
    return ImportTrace(files, options, out_);
  }

  // The rows of what was imported.
  std::vector<Ids> Rows() {
    auto trace = TraceFile::Open(out_);
    EXPECT_TRUE(trace.ok()) << trace.status().ToString();
    if (!trace.ok()) return {};
    std::vector<Ids> rows;
    for (uint64_t row = 0; row < (*trace)->info().rows; ++row) {
      const auto ids = (*trace)->Experts(row);
      EXPECT_TRUE(ids.ok()) << ids.status().ToString();
      rows.emplace_back(ids->begin(), ids->end());
    }
    std::filesystem::remove(out_);
    return rows;
  }

  void ExpectWrong(const std::vector<std::string>& files, const ImportOptions& options,
                   const std::string& says) {
    const auto report = Import(files, options);
    ASSERT_FALSE(report.ok()) << says;
    EXPECT_NE(report.status().message().find(says), std::string_view::npos)
        << report.status().ToString() << "\n  expected: " << says;
    EXPECT_FALSE(std::filesystem::exists(out_));
  }

  const TemporaryDirectory directory_;
  const TemporaryDirectory out_directory_;
  const std::string out_ = out_directory_ / "t.safetensors";
};

TEST_F(ImportTest, NpyInEitherOrder) {
  const std::vector<Ids> rows = {{0, 1, 2, 3}, {4, 5, 6, -1}, {8, 9, 10, 11}};
  // [3 tokens, 2 layers, top-2].
  const std::string c = WriteNpy("c.npy", "(3, 2, 2)", {0, 1, 2, 3, 4, 5, 6, -1, 8, 9, 10, 11});
  auto report = Import({c});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->format, ImportFormat::kNpy);
  EXPECT_EQ(report->info.layers, 2u);
  EXPECT_EQ(report->info.top_k, 2u);
  EXPECT_EQ(report->info.experts, 12u);
  EXPECT_EQ(Rows(), rows);
  // The first index fastest: (t, l, k) at t + 3 (l + 2 k).
  const std::string f =
      WriteNpy("f.npy", "(3, 2, 2)", {0, 4, 8, 2, 6, 10, 1, 5, 9, 3, -1, 11}, true);
  ASSERT_TRUE(Import({f}).ok());
  EXPECT_EQ(Rows(), rows);
  const std::string flat =
      WriteNpy("2.npy", "(3, 4)", {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, -1, 11}, true);
  ASSERT_TRUE(Import({flat}, {.top_k = 2}).ok());
  EXPECT_EQ(Rows(), rows);
}

TEST_F(ImportTest, NpyFilesAreRequests) {
  const std::string a = WriteNpy("a.npy", "(1, 2, 1)", {3, 1});
  const std::string b = WriteNpy("b.npy", "(2, 2)", {0, 99, 2, 1});
  auto report = Import({a, b}, {.experts = 8, .top_k = 1, .none = 99, .model = "m"});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->info.request_rows, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(report->info.experts, 8u);
  EXPECT_EQ((*TraceFile::Open(out_))->info().model, "m");
  EXPECT_EQ(Rows(), (std::vector<Ids>{{3, 1}, {0, kNoExpert}, {2, 1}}));
}

// More rows than a block holds, against what they were made of.
TEST_F(ImportTest, NpyInBlocks) {
  const uint32_t tokens = 70000;
  Ids c(tokens * 8), f(tokens * 8);
  for (uint32_t t = 0; t < tokens; ++t) {
    for (uint32_t i = 0; i < 8; ++i) {
      const auto id = static_cast<int32_t>((t * 31 + i * 7) % 50);
      c[t * 8 + i] = id;
      f[t + tokens * (i / 2 + 4 * (i % 2))] = id;
    }
  }
  ASSERT_TRUE(Import({WriteNpy("c.npy", "(70000, 4, 2)", c)}).ok());
  const std::vector<Ids> rows = Rows();
  ASSERT_TRUE(Import({WriteNpy("f.npy", "(70000, 4, 2)", f, true)}).ok());
  EXPECT_TRUE(rows == Rows());
  EXPECT_EQ(rows[69999], Ids(c.end() - 8, c.end()));
}

TEST_F(ImportTest, NpyThatDoesNotFit) {
  const std::string good = WriteNpy("a.npy", "(1, 2, 1)", {3, 1});
  ExpectWrong({WriteNpy("b.npy", "(2, 2)", {0, 3, 2, 1})}, {},
              "b.npy: two dimensions: say --top-k");
  ExpectWrong({WriteNpy("b.npy", "(2, 3)", {0, 3, 2, 1, 1, 1})}, {.top_k = 2}, "no multiple");
  ExpectWrong({good}, {.top_k = 2}, "--top-k says 2");
  ExpectWrong({WriteNpy("b.npy", "(4,)", {0, 3, 2, 1})}, {}, "1 dimensions");
  ExpectWrong({WriteNpy("b.npy", "(0, 2, 1)", {})}, {}, "no tokens");
  ExpectWrong({good, WriteNpy("b.npy", "(1, 1, 2)", {3, 1})}, {}, "b.npy: 1 layers, top-2, but");
  ExpectWrong({good}, {.experts = 3}, "a.npy: token 0, layer 0: expert id 3");
  ExpectWrong({WriteNpy("b.npy", "(1, 2, 1)", {0, -5})}, {}, "token 0, layer 1: expert id -5");
  ExpectWrong({WriteNpy("b.npy", "(1, 2, 1)", {0, 1 << 21})}, {}, "expert id 2097152");
  ExpectWrong({good, directory_ / "none.npy"}, {}, "none.npy");
  ExpectWrong({good, good, Write("x.npy", "what")}, {}, "x.npy");
  ExpectWrong({Write("x.bin", "what")}, {}, "say --format");
  ExpectWrong({Write("x.bin", "")}, {}, "say --format");
}

TEST_F(ImportTest, AccessCsvRows) {
  // Blocks 2 and 5 have experts; the second row has no block 5, the third begins at 5.
  const std::string a = Write("a.csv", "# hello\nlayer,expert\n2,7\n2,1\n5,3\n2,0\n2,4\n2,9\n");
  const std::string b = Write("b.csv", "layer,expert\r\n5,3\r\n2,1\r\n5,2\r\n");
  auto report = Import({a, b});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->format, ImportFormat::kAccessCsv);
  EXPECT_EQ(report->info.layer_ids, (std::vector<uint32_t>{2, 5}));
  EXPECT_EQ(report->info.top_k, 3u);
  EXPECT_EQ(report->info.experts, 10u);
  EXPECT_EQ(report->info.request_rows, (std::vector<uint32_t>{2, 2}));
  const int32_t no = kNoExpert;
  EXPECT_EQ(Rows(), (std::vector<Ids>{{7, 1, no, 3, no, no},
                                      {0, 4, 9, no, no, no},
                                      {no, no, no, 3, no, no},
                                      {1, no, no, 2, no, no}}));
  // As spreadsheets write it.
  ASSERT_TRUE(Import({Write("b.csv",
                            "\xEF\xBB\xBF"
                            "layer,expert\n2,7\n5,3\n")})
                  .ok());
  EXPECT_EQ(Rows(), (std::vector<Ids>{{7, 3}}));
  // One layer: only --top-k can tell rows apart. With 1 a row begins where the layer does not grow.
  const std::string one = Write("c.csv", "layer,expert\n0,7\n0,1\n0,3\n0,0\n");
  ASSERT_TRUE(Import({one}, {.top_k = 2}).ok());
  EXPECT_EQ(Rows(), (std::vector<Ids>{{7, 1}, {3, 0}}));
  ASSERT_TRUE(Import({one}, {.top_k = 1}).ok());
  EXPECT_EQ(Rows().size(), 4u);
}

TEST_F(ImportTest, AccessCsvThatIsWrong) {
  ExpectWrong({Write("a.csv", "layer,expert\n")}, {}, "a.csv: no line");
  ExpectWrong({Write("a.csv", "layer,expert\n0,1\n0,x\n")}, {}, "a.csv:3");
  ExpectWrong({Write("a.csv", "layer,expert\n0,1\n0,-1\n")}, {}, "a.csv:3");
  ExpectWrong({Write("a.csv", "layer,expert\n0,1\n1,9\n")}, {.experts = 9}, "a.csv:3: expert id 9");
  ExpectWrong({Write("a.csv", "layer,expert\n0,1\n70000,9\n")}, {}, "a.csv:3: layer 70000");
  std::string many = "layer,expert\n";
  for (int i = 0; i < 1100; ++i) many += "0,1\n";
  ExpectWrong({Write("a.csv", many)}, {}, "a.csv:1026: more than 1024 experts of layer 0");
}

constexpr char kRoute[] =
    "# route_trace v1\n"
    "# model=/data/m.gguf arch=a n_layer=4 n_expert=8 n_expert_used=2\n"
    "# layer=1 expert_bytes=100 dense_bytes=5\n"
    "# layer=3 expert_bytes=70 dense_bytes=5\n"
    "turn,phase,step,layer,slot,expert,weight,residency,expert_bytes\n";

TEST_F(ImportTest, RouteCsv) {
  // A prompt of two rows, of which the first lacks layer 3; a token; another turn with a token.
  const std::string file = Write("r.csv", std::string(kRoute) +
                                              "0,0,0,1,0,7,0.75,0,100\n0,0,0,1,1,2,0.25,0,100\n"
                                              "0,0,1,1,0,7,0.5,0,0\n0,0,1,1,1,3,0.5,0,100\n"
                                              "0,0,1,3,0,1,1,0,70\n0,0,1,3,1,0,0,0,70\n"
                                              "0,1,2,1,0,7,1,1,0\n0,1,2,1,1,4,0,0,100\n"
                                              "0,1,2,3,0,1,1,2,0\n0,1,2,3,1,5,0,0,70\n"
                                              "1,1,3,1,0,7,1,1,0\n1,1,3,1,1,2,0,1,0\n");
  auto report = Import({file});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->format, ImportFormat::kRouteCsv);
  auto trace = TraceFile::Open(out_);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const TraceInfo& info = (*trace)->info();
  EXPECT_EQ(info.layers, 2u);
  EXPECT_EQ(info.layer_ids, (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(info.layer_unit_bytes, (std::vector<uint64_t>{100, 70}));
  EXPECT_EQ(info.experts, 8u);
  EXPECT_EQ(info.request_rows, (std::vector<uint32_t>{3, 1}));
  EXPECT_EQ(info.pass_rows, (std::vector<uint32_t>{2, 1, 1}));
  EXPECT_EQ(info.model, "m.gguf (a)");
  EXPECT_EQ((*(*trace)->Weights(0))[0], 0.75f);
  EXPECT_EQ((*(*trace)->Weights(0))[2], 0.0f);
  const int32_t no = kNoExpert;
  EXPECT_EQ(Rows(), (std::vector<Ids>{{7, 2, no, no}, {7, 3, 1, 0}, {7, 4, 1, 5}, {7, 2, no, no}}));
  const DeviceRecord& device = *report->device;
  EXPECT_EQ(device.entries, 12u);
  EXPECT_EQ(device.entries_hit, 4u);
  EXPECT_EQ(device.distinct, 11u);  // unit (1, 7) twice in the prompt
  EXPECT_EQ(device.distinct_hit, 4u);
  EXPECT_EQ(device.decode_distinct, 6u);
  EXPECT_EQ(device.decode_distinct_hit, 4u);
  EXPECT_EQ(device.speculative_hits, 1u);
  EXPECT_EQ(device.read_bytes, 610u);
}

TEST_F(ImportTest, RouteCsvThatIsWrong) {
  const auto wrong = [&](const std::string& lines, const std::string& says) {
    ExpectWrong({Write("r.csv", kRoute + lines)}, {}, says);
  };
  const std::string row = "0,1,0,1,0,7,1,0,0\n";
  wrong("", "r.csv: no line");
  wrong(row + "0,1,0,1,0\n", "r.csv:7: expected 9 columns");
  wrong(row + "0,1,0,1,2,7,1,0,0\n", "r.csv:7: slot 2");
  wrong(row + "0,1,0,2,0,7,1,0,0\n", "r.csv:7: layer 2, but no '# layer=' line");
  wrong(row + row, "r.csv:7: slot 0 of step 0, layer 1 stands twice");
  wrong(row + "0,1,5,3,0,7,1,0,0\n", "r.csv:7: step 5 stands out of order");
  wrong(row + "0,1,0,3,0,7,1,0,0\n0,1,5,3,0,7,1,0,0\n", "r.csv:8: step 5 stands out of order");
  wrong("1,1,0,1,0,7,1,0,0\n" + row, "r.csv:7: turn 0 after turn 1");
  wrong("0,0,4,1,0,7,1,0,0\n0,0,3,1,0,7,1,0,0\n", "r.csv:7: step 3 stands out of order");
  const std::string good = Write("g.csv", kRoute + row);
  ExpectWrong({good}, {.experts = 9}, "says 8 experts, --experts 9");
  ExpectWrong({good}, {.top_k = 1}, "says 2 experts a row, --top-k 1");
  std::string other = kRoute + row;
  other.replace(other.find("=70"), 3, "=71");
  ExpectWrong({good, Write("o.csv", other)}, {}, "o.csv: another model");
}

TEST_F(ImportTest, Dumps) {
  const ImportOptions options = {.format = ImportFormat::kDump, .top_k = 2};
  const auto with = [&](const std::string& record) {
    ImportOptions made = options;
    made.record = record;
    return made;
  };
  const std::vector<Ids> rows = {{1, 2, 3, 4}, {5, 6, kNoExpert, kNoExpert}, {0, 1, 2, 3}};
  // row, layer, ids; the third row is a request of its own: its row is 0 again.
  auto report = Import({Write("a", Words({0, 1, 1, 2, 0, 4, 3, 4, 7, 1, 5, 6,  //
                                          0, 1, 0, 1, 0, 4, 2, 3}))},
                       options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->info.layer_ids, (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(report->info.request_rows, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(Rows(), rows);
  // Without rows a row begins where the layer does not grow; two files, two requests.
  report = Import({Write("a", Words({1, 2, -7, 1, 3, 4, -7, 4, 5, 6, -7, 1})),
                   Write("b", Words({0, 1, -7, 1, 2, 3, -7, 4}))},
                  with("ids,skip,layer"));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->info.request_rows, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(Rows(), rows);
  report = Import({Write("a", Words({9, 3, 1, 1, 2, 9, 3, 4, 3, 4, 9, 4, 1, 5, 6,  //
                                     8, 5, 1, 0, 1, 8, 5, 4, 2, 3}))},
                  with("request,row,layer,ids"));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->info.request_rows, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(Rows(), rows);

  const std::string file = Write("a", Words({0, 1, 1, 2}));
  ExpectWrong({file}, {.format = ImportFormat::kDump}, "say --top-k");
  ExpectWrong({file}, with("row,layer"), "needs layer and ids");
  ExpectWrong({file}, with("row,layer,ids,row"), "'row' stands twice");
  ExpectWrong({file}, with("row,layr,ids"), "did you mean 'layer'?");
  ExpectWrong({file}, with(""), "no field ''");
  ExpectWrong({Write("a", Words({0, 1, 1}))}, options, "12 bytes are no whole number of records");
  ExpectWrong({Write("a", "")}, options, "0 bytes");
  ExpectWrong({Write("a", Words({0, -1, 1, 2}))}, options, "record at byte 0: layer -1");
  ExpectWrong({Write("a", Words({0, 1, 1, 2, 0, 2, 1, -2}))}, options,
              "record at byte 16: expert id -2");
  ExpectWrong({Write("a", Words({0, 1, 1, 2, 0, 1, 1, 2}))}, options,
              "record at byte 16: more than 2 experts");
  ExpectWrong({Write("a", Words({0, 5, 1, 1, 2, 0, 4, 1, 1, 2}))}, with("request,row,layer,ids"),
              "record at byte 20: row 4 after row 5");
}

TEST_F(ImportTest, TheOutputIsNoInputAndNotReplacedUnasked) {
  const std::string file = WriteNpy("a.npy", "(1, 2, 1)", {3, 1});
  EXPECT_EQ(ImportTrace(std::vector<std::string>{file}, {.replace = true}, file).status().code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(Import({file}).ok());
  EXPECT_EQ(Import({file}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Import({file}, {.replace = true}).ok());
  EXPECT_FALSE(Import({}).ok());
}

}  // namespace
}  // namespace berth
