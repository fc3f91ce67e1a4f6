#include "runtime/pack/verify.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "io/file/output_file.h"
#include "io/gguf/gguf_shards.h"
#include "runtime/base/mutex.h"
#include "runtime/catalog/catalog.h"
#include "runtime/catalog/pack_layout.h"
#include "runtime/catalog/sidecar.h"
#include "runtime/pack/unit_batch.h"

namespace berth::models {
namespace {

bool SameMatrix(const kernels::MatrixSpec& a, const kernels::MatrixSpec& b) {
  return a.type == b.type && a.rows == b.rows && a.cols == b.cols && a.offset == b.offset;
}

bool SameSibling(const kernels::SiblingSpec& a, const kernels::SiblingSpec& b) {
  return a.bias == b.bias && a.scale == b.scale;
}

Status CheckSameGeometry(const Catalog& model, const Catalog& source) {
  const std::string other = ": not made from " + source.files()[0].path + ": ";
  const std::string& path = model.files()[0].path;
  if (model.layers() != source.layers() || model.experts() != source.experts() ||
      model.architecture() != source.architecture()) {
    return FailedPreconditionError(
        path + other + model.architecture() + " with " + std::to_string(model.layers()) + " x " +
        std::to_string(model.experts()) + " experts, expected " + source.architecture() + " with " +
        std::to_string(source.layers()) + " x " + std::to_string(source.experts()));
  }
  for (uint32_t i = 0; i < model.layers(); ++i) {
    const CatalogLayer& a = model.layer(i);
    const CatalogLayer& b = source.layer(i);
    if (a.block != b.block || !SameMatrix(a.spec.gate, b.spec.gate) ||
        !SameMatrix(a.spec.up, b.spec.up) || !SameMatrix(a.spec.down, b.spec.down)) {
      return FailedPreconditionError(path + other + "blk." + std::to_string(a.block) +
                                     " has other types or shapes than blk." +
                                     std::to_string(b.block) + " there");
    }
  }
  return Status();
}

std::string Place(const Catalog& catalog, const Extent& extent, uint64_t at) {
  return catalog.files()[extent.file].path + " byte " + std::to_string(extent.offset + at);
}

class Verifier {
 public:
  // `source` may be null. `expected`: a sum for each unit, or none.
  Verifier(const UnitFiles& model, const UnitFiles* source,
           std::span<const catalog::UnitSums> expected)
      : model_(model), source_(source), expected_(expected) {}

  Status Run(uint32_t asked_threads, Progress* progress) {
    const uint32_t threads = std::max(1u, asked_threads);
    const Catalog& catalog = model_.catalog();
    report_.units = catalog.units();
    report_.checksums = !expected_.empty();
    report_.compared = source_ != nullptr;
    sums_.resize(catalog.units());
    const std::vector<BatchRange> batches = BatchesOf(catalog);
    for (const BatchRange& range : batches) report_.bytes += PayloadBytes(range);
    if (progress != nullptr) progress->Begin("verifying", report_.bytes);
    if (source_ != nullptr) CompareSiblings();
    std::vector<UnitBatch> mine(threads);
    std::vector<UnitBatch> theirs(threads);
    BERTH_RETURN_IF_ERROR(RunJobs(batches.size(), threads, [&](uint64_t job, uint32_t worker) {
      const BatchRange& range = batches[job];
      BERTH_RETURN_IF_ERROR(mine[worker].Read(model_, range));
      if (source_ != nullptr) BERTH_RETURN_IF_ERROR(theirs[worker].Read(*source_, range));
      for (uint32_t i = 0; i < range.count; ++i) CheckUnit(range, i, mine[worker], theirs[worker]);
      if (progress != nullptr) progress->Add(PayloadBytes(range));
      return Status();
    }));
    return Status();
  }

  // Of all units, once Run is done.
  std::span<const catalog::UnitSums> sums() const { return sums_; }

  VerifyReport TakeReport() {
    MutexLock lock(&mutex_);
    report_.bad_units = bad_units_;
    for (auto& [unit, text] : findings_) {
      if (report_.findings.size() < kMaxFindings) report_.findings.push_back(std::move(text));
    }
    return std::move(report_);
  }

 private:
  uint64_t PayloadBytes(const BatchRange& range) const {
    const Catalog& catalog = model_.catalog();
    const SizeClass& size = catalog.size_classes()[catalog.layer(range.layer).size_class];
    return size.payload_bytes * range.count;
  }

  void CheckUnit(const BatchRange& range, uint32_t index, const UnitBatch& mine,
                 const UnitBatch& theirs) {
    const Catalog& catalog = model_.catalog();
    const UnitIndex unit = catalog.unit({range.layer, range.first + index});
    const std::vector<UnitPart> parts = PartsOf(catalog, range.layer);
    sums_[unit] = mine.Sums(index, parts);
    std::optional<std::string> finding;
    if (source_ != nullptr) finding = Compare(range, index, mine, theirs);
    if (!finding && !expected_.empty() && sums_[unit].unit != expected_[unit].unit) {
      finding = ChecksumFinding(parts, unit);
    }
    if (finding) Add(unit, catalog.Describe(unit) + ": " + *finding);
  }

  std::optional<std::string> Compare(const BatchRange& range, uint32_t index, const UnitBatch& mine,
                                     const UnitBatch& theirs) const {
    const Catalog& source = source_->catalog();
    const Catalog& model = model_.catalog();
    const std::vector<UnitPart> my_parts = PartsOf(model, range.layer);
    const std::vector<UnitPart> their_parts = PartsOf(source, range.layer);
    const UnitIndex unit = model.unit({range.layer, range.first + index});
    for (size_t p = 0; p < my_parts.size(); ++p) {
      const std::span<const std::byte> a = mine.part(index, my_parts[p]);
      const std::span<const std::byte> b = theirs.part(index, their_parts[p]);
      const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      if (at == a.end() && other == b.end()) continue;
      const auto offset = static_cast<uint64_t>(at - a.begin());
      return std::string(TensorRoleName(my_parts[p].role)) + " differs at " +
             Place(model, model.extents(unit)[my_parts[p].extent], my_parts[p].offset + offset) +
             " from " +
             Place(source, source.extents(unit)[their_parts[p].extent],
                   their_parts[p].offset + offset);
    }
    return std::nullopt;
  }

  // Which tensors have another sum than is stored; the unit as a whole if all of them fit.
  std::string ChecksumFinding(std::span<const UnitPart> parts, UnitIndex unit) const {
    const Catalog& catalog = model_.catalog();
    std::string text;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (sums_[unit].tensors[i] == expected_[unit].tensors[i]) continue;
      text += (text.empty() ? "" : ", ") + std::string(TensorRoleName(parts[i].role)) + " at " +
              Place(catalog, catalog.extents(unit)[parts[i].extent], parts[i].offset) + " (" +
              std::to_string(parts[i].bytes) + " bytes) does not fit its checksum";
    }
    if (!text.empty()) return text;
    return "its tensors fit, the unit at " + Place(catalog, catalog.extents(unit)[0], 0) +
           " does not fit its checksum: the padding or the stored checksum changed";
  }

  void CompareSiblings() {
    const Catalog& model = model_.catalog();
    for (uint32_t i = 0; i < model.layers(); ++i) {
      const kernels::ExpertSpec& a = model.layer(i).spec;
      const kernels::ExpertSpec& b = source_->catalog().layer(i).spec;
      if (SameSibling(a.gate_sibling, b.gate_sibling) && SameSibling(a.up_sibling, b.up_sibling) &&
          SameSibling(a.down_sibling, b.down_sibling)) {
        continue;
      }
      Add(model.unit({i, 0}), "blk." + std::to_string(model.layer(i).block) +
                                  ": biases or scales differ from the source's");
    }
  }

  void Add(UnitIndex unit, std::string text) {
    MutexLock lock(&mutex_);
    ++bad_units_;
    findings_.emplace(unit, std::move(text));
    // The last ones go, so that what is kept does not depend on the threads.
    if (findings_.size() > kMaxFindings) findings_.erase(std::prev(findings_.end()));
  }

  const UnitFiles& model_;
  const UnitFiles* source_;
  std::span<const catalog::UnitSums> expected_;
  std::vector<catalog::UnitSums> sums_;  // each written by the one job that has the unit
  VerifyReport report_;
  Mutex mutex_;
  std::multimap<UnitIndex, std::string> findings_ BERTH_GUARDED_BY(mutex_);
  uint64_t bad_units_ BERTH_GUARDED_BY(mutex_) = 0;
};

// The catalog keeps the units' sums alone: read the tensors' too.
Result<std::vector<catalog::UnitSums>> StoredSums(const Catalog& catalog) {
  if (!catalog.is_pack()) return catalog::ReadSidecar(catalog);
  BERTH_ASSIGN_OR_RETURN(const io::GgufShards shards,
                         io::ReadGgufShards(catalog.files().front().path));
  return catalog::ReadPackChecksums(shards, catalog.layers(), catalog.experts());
}

Result<VerifyReport> WriteSidecar(const VerifyOptions& options, const Catalog& catalog,
                                  Progress* progress) {
  if (catalog.is_pack()) {
    return InvalidArgumentError(options.model + ": is a pack, which has checksums of its own");
  }
  const std::string path = catalog::SidecarPath(catalog);
  // Creating the output first says at once that it exists or that the folder is read-only.
  BERTH_ASSIGN_OR_RETURN(auto output,
                         io::OutputFile::Create(path, 0, {.replace = options.replace}));
  BERTH_ASSIGN_OR_RETURN(const UnitFiles files, UnitFiles::Open(catalog));
  Verifier verifier(files, nullptr, {});
  BERTH_RETURN_IF_ERROR(verifier.Run(options.threads, progress));
  const std::string bytes = catalog::EncodeSidecar(catalog, verifier.sums());
  BERTH_RETURN_IF_ERROR(output->WriteAt(0, std::as_bytes(std::span(bytes))));
  BERTH_RETURN_IF_ERROR(output->Commit());
  VerifyReport report = verifier.TakeReport();
  report.written = path;
  return report;
}

}  // namespace

Result<VerifyReport> VerifyModel(const VerifyOptions& options, Progress* progress) {
  const CatalogOptions catalog_options = {.conventions = options.conventions,
                                          .ignore_sidecar = options.write};
  BERTH_ASSIGN_OR_RETURN(const auto catalog, Catalog::Open(options.model, catalog_options));
  if (options.write) return WriteSidecar(options, *catalog, progress);
  if (options.source.empty() && !catalog->has_checksums()) {
    return FailedPreconditionError(options.model +
                                   ": has no checksums to verify: make them with --write, or "
                                   "compare it with another file by --source");
  }
  BERTH_ASSIGN_OR_RETURN(const UnitFiles files, UnitFiles::Open(*catalog));
  std::vector<catalog::UnitSums> expected;
  if (catalog->has_checksums()) {
    BERTH_ASSIGN_OR_RETURN(expected, StoredSums(*catalog));
  }
  if (options.source.empty()) {
    Verifier verifier(files, nullptr, expected);
    BERTH_RETURN_IF_ERROR(verifier.Run(options.threads, progress));
    return verifier.TakeReport();
  }
  BERTH_ASSIGN_OR_RETURN(const auto source, Catalog::Open(options.source, catalog_options));
  BERTH_RETURN_IF_ERROR(CheckSameGeometry(*catalog, *source));
  BERTH_ASSIGN_OR_RETURN(const UnitFiles source_files, UnitFiles::Open(*source));
  Verifier verifier(files, &source_files, expected);
  BERTH_RETURN_IF_ERROR(verifier.Run(options.threads, progress));
  return verifier.TakeReport();
}

}  // namespace berth::models
