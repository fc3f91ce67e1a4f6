// Arrays of expert ids, [tokens, layers, top_k] or [tokens, layers * top_k], one request a file.
#include "io/npy/npy.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "berth/types.h"
#include "runtime/trace/import/importer.h"
#include "runtime/trace/info.h"

namespace berth::trace {
namespace {

// Rows are taken in blocks of about so many entries.
constexpr uint64_t kBlockEntries = 1u << 19;

class NpyImporter final : public Importer {
 public:
  NpyImporter(std::span<const std::string> files, const ImportOptions& options)
      : files_(files), options_(options) {}

  Status Scan(TraceInfo* info) override;
  Status Write(const TraceInfo& info, TraceWriter* writer) override;

 private:
  struct Shape {
    uint64_t rows = 0;
    uint64_t layers = 0;
    uint64_t top_k = 0;
  };
  Result<Shape> ShapeOf(const io::NpyFile& file) const;
  // each(row ids) for every row of the file.
  template <typename Each>
  Status ForRows(const io::NpyFile& file, const Shape& shape, Each each);
  Status ReadBlock(const io::NpyFile& file, const Shape& shape, uint64_t first, uint64_t rows);

  const std::span<const std::string> files_;
  const ImportOptions& options_;
  std::vector<int64_t> block_;    // [rows of the block][layers][top_k]
  std::vector<int64_t> columns_;  // as a file in Fortran order has them
  std::vector<int32_t> ids_;
  uint64_t done_ = 0;
  uint64_t all_ = 0;
};

Result<NpyImporter::Shape> NpyImporter::ShapeOf(const io::NpyFile& file) const {
  const std::vector<uint64_t>& shape = file.shape();
  const auto wrong = [&](const std::string& what) {
    return InvalidArgumentError(file.name() + ": " + what);
  };
  Shape made;
  if (shape.size() == 3) {
    made = {shape[0], shape[1], shape[2]};
    if (options_.top_k != 0 && options_.top_k != made.top_k) {
      return wrong("its last dimension is " + std::to_string(made.top_k) + ", --top-k says " +
                   std::to_string(options_.top_k));
    }
  } else if (shape.size() == 2) {
    if (options_.top_k == 0) {
      return wrong("two dimensions: say --top-k, so that the second can be layers x top-k");
    }
    if (shape[1] % options_.top_k != 0) {
      return wrong("its second dimension, " + std::to_string(shape[1]) +
                   ", is no multiple of --top-k " + std::to_string(options_.top_k));
    }
    made = {shape[0], shape[1] / options_.top_k, options_.top_k};
  } else {
    return wrong("an array of " + std::to_string(shape.size()) +
                 " dimensions: expected [tokens, layers, top_k], or [tokens, layers * top_k] with "
                 "--top-k");
  }
  if (made.rows == 0) return wrong("no tokens: leave the file out");
  if (made.rows > static_cast<uint64_t>(INT32_MAX)) return wrong("more than 2^31 - 1 tokens");
  const uint64_t most = options_.experts == 0 ? kMaxExperts : options_.experts;
  Status status = CheckTraceShape(made.layers, most, made.top_k);
  return status.ok() ? Result<Shape>(made) : status.Annotate(file.name());
}

// A block in the order of rows, whatever the order of the file.
Status NpyImporter::ReadBlock(const io::NpyFile& file, const Shape& shape, uint64_t first,
                              uint64_t rows) {
  const uint64_t entries = shape.layers * shape.top_k;
  block_.resize(rows * entries);
  if (!file.fortran_order()) return file.Read(first * entries, block_);
  columns_.resize(rows);
  for (uint64_t layer = 0; layer < shape.layers; ++layer) {
    for (uint64_t k = 0; k < shape.top_k; ++k) {
      // The first index runs fastest. With two dimensions the second is layer * top_k + k.
      const uint64_t column =
          file.shape().size() == 3 ? k * shape.layers + layer : layer * shape.top_k + k;
      BERTH_RETURN_IF_ERROR(file.Read(column * shape.rows + first, columns_));
      for (uint64_t row = 0; row < rows; ++row) {
        block_[row * entries + layer * shape.top_k + k] = columns_[row];
      }
    }
  }
  return Status();
}

template <typename Each>
Status NpyImporter::ForRows(const io::NpyFile& file, const Shape& shape, Each each) {
  const uint64_t entries = shape.layers * shape.top_k;
  const uint64_t block_rows = std::max<uint64_t>(1, kBlockEntries / entries);
  ids_.resize(entries);
  for (uint64_t first = 0; first < shape.rows; first += block_rows) {
    const uint64_t rows = std::min(block_rows, shape.rows - first);
    BERTH_RETURN_IF_ERROR(ReadBlock(file, shape, first, rows));
    for (uint64_t row = 0; row < rows; ++row) {
      for (uint64_t i = 0; i < entries; ++i) {
        const Result<int32_t> id = ImportId(options_, block_[row * entries + i]);
        if (!id.ok()) {
          return id.status().Annotate(file.name() + ": token " + std::to_string(first + row) +
                                      ", layer " + std::to_string(i / shape.top_k));
        }
        ids_[i] = *id;
      }
      BERTH_RETURN_IF_ERROR(each(std::span<const int32_t>(ids_)));
    }
    done_ += rows;
    if (options_.progress) options_.progress(done_, all_);
  }
  return Status();
}

Status NpyImporter::Scan(TraceInfo* info) {
  Shape first;
  int32_t largest = kNoExpert;
  for (const std::string& path : files_) {
    BERTH_ASSIGN_OR_RETURN(const io::NpyFile file, io::NpyFile::Open(path));
    BERTH_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(file));
    if (info->request_rows.empty()) first = shape;
    if (shape.layers != first.layers || shape.top_k != first.top_k) {
      return InvalidArgumentError(path + ": " + std::to_string(shape.layers) + " layers, top-" +
                                  std::to_string(shape.top_k) + ", but " + files_.front() +
                                  " has " + std::to_string(first.layers) + ", top-" +
                                  std::to_string(first.top_k));
    }
    info->request_rows.push_back(static_cast<uint32_t>(shape.rows));
    info->rows += shape.rows;
    all_ = info->rows;
    BERTH_RETURN_IF_ERROR(ForRows(file, shape, [&](std::span<const int32_t> ids) {
      largest = std::max(largest, *std::max_element(ids.begin(), ids.end()));
      return Status();
    }));
  }
  info->layers = static_cast<uint32_t>(first.layers);
  info->top_k = static_cast<uint32_t>(first.top_k);
  info->experts = options_.experts != 0 ? options_.experts
                                        : std::max(static_cast<uint32_t>(largest + 1), info->top_k);
  return Status();
}

Status NpyImporter::Write(const TraceInfo&, TraceWriter* writer) {
  done_ = 0;
  for (const std::string& path : files_) {
    BERTH_ASSIGN_OR_RETURN(const io::NpyFile file, io::NpyFile::Open(path));
    BERTH_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(file));
    BERTH_RETURN_IF_ERROR(ForRows(file, shape, [&](std::span<const int32_t> ids) {
      return writer->Append({.experts = ids});
    }));
  }
  return Status();
}

}  // namespace

std::unique_ptr<Importer> MakeNpyImporter(std::span<const std::string> files,
                                          const ImportOptions& options) {
  return std::make_unique<NpyImporter>(files, options);
}

}  // namespace berth::trace
