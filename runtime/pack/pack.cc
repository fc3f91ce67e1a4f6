#include "runtime/pack/pack.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "io/file/output_file.h"
#include "io/file/phased_buffer.h"
#include "io/gguf/gguf_shards.h"
#include "io/gguf/gguf_writer.h"
#include "runtime/base/hash.h"
#include "runtime/base/math.h"
#include "runtime/catalog/catalog.h"
#include "runtime/catalog/expert_tensors.h"
#include "runtime/catalog/model_metadata.h"
#include "runtime/catalog/pack_layout.h"
#include "runtime/catalog/sidecar.h"
#include "runtime/pack/tensor_size.h"
#include "runtime/pack/unit_batch.h"

namespace berth::models {
namespace {

constexpr uint64_t kChunkBytes = 8 << 20;

// A tensor that goes over as it is.
struct CarriedTensor {
  uint32_t file = 0;
  uint64_t from = 0;
  uint64_t bytes = 0;
  size_t index = 0;  // in the layout
};
struct Chunk {
  uint32_t file = 0;
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
};

// Keys of the old layout of the files, which the new file has its own of.
bool OfTheOldLayout(std::string_view key) {
  return key.starts_with("split.") || key == catalog::kSplitSetKey ||
         key.starts_with("berth.pack.") || key == "general.alignment";
}

bool IsExpertWeight(std::string_view name) {
  const auto block = catalog::ParseBlockName(name);
  if (!block) return false;
  return block->rest.starts_with("ffn_") && block->rest.ends_with("_exps.weight") &&
         (block->rest == "ffn_gate_exps.weight" || block->rest == "ffn_up_exps.weight" ||
          block->rest == "ffn_down_exps.weight" || block->rest == "ffn_gate_up_exps.weight");
}

class Packer {
 public:
  Packer(const Catalog& catalog, const io::GgufShards& shards, const UnitFiles& files)
      : catalog_(catalog), shards_(shards), files_(files), layout_(3, kIoAlign) {}

  Result<PackReport> Pack(const PackOptions& options, Progress* progress) {
    BERTH_RETURN_IF_ERROR(LayOut());
    BERTH_ASSIGN_OR_RETURN(output_, io::OutputFile::Create(options.output, layout_.file_bytes(),
                                                           {.replace = options.replace}));
    BERTH_RETURN_IF_ERROR(output_->WriteAt(0, layout_.header()));
    if (progress != nullptr) progress->Begin("packing", report_.unit_bytes + report_.other_bytes);
    BERTH_RETURN_IF_ERROR(WriteUnits(std::max(1u, options.threads), progress));
    BERTH_RETURN_IF_ERROR(WriteCarried(std::max(1u, options.threads), progress));
    BERTH_RETURN_IF_ERROR(output_->WriteAt(layout_.tensor_offset(checksums_index_),
                                           std::as_bytes(std::span(checksums_))));
    BERTH_RETURN_IF_ERROR(output_->Commit());
    return report_;
  }

 private:
  Status LayOut() {
    BERTH_RETURN_IF_ERROR(CarryMetadata());
    layout_.AddUint32(catalog::kPackVersionKey, catalog::kPackVersion);
    for (uint32_t layer = 0; layer < catalog_.layers(); ++layer) {
      BERTH_RETURN_IF_ERROR(AddLayer(layer));
    }
    const uint64_t table[] = {catalog::kSumsPerUnit, catalog_.experts(), catalog_.layers()};
    checksums_.resize(catalog_.units());
    checksums_index_ = layout_.AddTensor(catalog::kPackChecksumsName, catalog::kGgmlTypeI64, table,
                                         checksums_.size() * sizeof(catalog::UnitSums));
    BERTH_RETURN_IF_ERROR(CarryTensors());
    BERTH_RETURN_IF_ERROR(layout_.Finish());
    report_.layers = catalog_.layers();
    report_.units = catalog_.units();
    report_.file_bytes = layout_.file_bytes();
    return Status();
  }

  Status CarryMetadata() {
    absl::flat_hash_set<std::string> seen;
    for (uint32_t i = 0; i < shards_.files.size(); ++i) {
      for (const io::GgufKeyValue& entry : shards_.files[i].metadata) {
        if (OfTheOldLayout(entry.key) || !seen.insert(entry.key).second) continue;
        std::vector<std::byte> bytes(entry.entry_bytes);
        BERTH_RETURN_IF_ERROR(files_.file(i).ReadAt(entry.entry_offset, bytes));
        layout_.AddEntry(bytes);
      }
    }
    return Status();
  }

  Status AddLayer(uint32_t layer) {
    const kernels::ExpertSpec& spec = catalog_.layer(layer).spec;
    const uint32_t block = catalog_.layer(layer).block;
    std::vector<uint32_t> figures;
    uint64_t end = 0;
    for (const UnitPart& part : PartsOf(catalog_, layer)) {
      const kernels::MatrixSpec& matrix = part.role == TensorRole::kDown ? spec.down : spec.up;
      const kernels::MatrixSpec& shape = part.role == TensorRole::kGate ? spec.gate : matrix;
      const uint32_t rows = part.role == TensorRole::kGateUp ? shape.rows * 2 : shape.rows;
      figures.insert(figures.end(), {static_cast<uint32_t>(part.role),
                                     static_cast<uint32_t>(shape.type), rows, shape.cols});
      end = part.card_offset + part.bytes;
    }
    if (end > catalog::kMaxUnitTensorBytes) {
      return InvalidArgumentError("blk." + std::to_string(block) + " has units of " +
                                  std::to_string(end) + " bytes: a pack's unit is one read of " +
                                  "less than 1 GiB; use the model as it is");
    }
    layout_.AddUint32Array(catalog::PackTensorsKey(block), figures);
    const uint64_t stride = AlignUp(end, kIoAlign);
    const uint64_t ne[] = {stride, catalog_.experts()};
    layer_tensors_.push_back(layout_.AddTensor(catalog::PackTensorName(block), catalog::kGgmlTypeI8,
                                               ne, stride * catalog_.experts()));
    strides_.push_back(stride);
    const SizeClass& size = catalog_.size_classes()[catalog_.layer(layer).size_class];
    report_.unit_bytes += size.payload_bytes * catalog_.experts();
    return Status();
  }

  Status CarryTensors() {
    for (uint32_t i = 0; i < shards_.files.size(); ++i) {
      for (const io::GgufTensor& tensor : shards_.files[i].tensors) {
        if (IsExpertWeight(tensor.name)) continue;
        // Of a type that is not known all that may belong to it goes over, padding included.
        const uint64_t bytes = TensorBytes(tensor).value_or(tensor.room_bytes);
        if (bytes > tensor.room_bytes) {
          return DataLossError(shards_.files[i].path + ": tensor " + tensor.name + " has " +
                               std::to_string(bytes) + " bytes, only " +
                               std::to_string(tensor.room_bytes) +
                               " are there; the file is truncated or damaged");
        }
        const size_t index = layout_.AddTensor(tensor.name, tensor.type,
                                               std::span(tensor.ne.data(), tensor.dims), bytes);
        carried_.push_back({i, tensor.offset, bytes, index});
        report_.other_bytes += bytes;
      }
    }
    return Status();
  }

  Status WriteUnits(uint32_t threads, Progress* progress) {
    const std::vector<BatchRange> batches = BatchesOf(catalog_, kChunkBytes);
    std::vector<UnitBatch> read(threads);
    std::vector<io::PhasedBuffer> packed(threads);
    return RunJobs(batches.size(), threads, [&](uint64_t job, uint32_t worker) {
      const BatchRange& range = batches[job];
      BERTH_RETURN_IF_ERROR(read[worker].Read(files_, range));
      return WriteBatch(range, read[worker], &packed[worker], progress);
    });
  }

  Status WriteBatch(const BatchRange& range, const UnitBatch& batch, io::PhasedBuffer* buffer,
                    Progress* progress) {
    const std::vector<UnitPart> parts = PartsOf(catalog_, range.layer);
    const uint64_t stride = strides_[range.layer];
    const uint64_t payload_end = parts.back().card_offset + parts.back().bytes;
    const uint64_t offset =
        layout_.tensor_offset(layer_tensors_[range.layer]) + stride * range.first;
    const std::span<std::byte> packed = buffer->Prepare(stride * range.count, offset);
    std::fill(packed.begin(), packed.end(), std::byte{0});
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < range.count; ++i) {
      const UnitIndex unit = catalog_.unit({range.layer, range.first + i});
      if (catalog_.has_checksums() && batch.Checksum(i) != catalog_.checksum(unit)) {
        return DataLossError(catalog_.Describe(unit) +
                             " of the model does not fit its checksum: run berth verify");
      }
      std::byte* to = packed.data() + stride * i;
      for (const UnitPart& part : parts) {
        const std::span<const std::byte> from = batch.part(i, part);
        std::memcpy(to + part.card_offset, from.data(), from.size());
        bytes += from.size();
      }
      checksums_[unit] = batch.Sums(i, parts);
      checksums_[unit].unit = Hash64(to, payload_end);  // the padding between tensors included
    }
    BERTH_RETURN_IF_ERROR(output_->WriteAt(offset, packed));
    if (progress != nullptr) progress->Add(bytes);
    return Status();
  }

  Status WriteCarried(uint32_t threads, Progress* progress) {
    std::vector<Chunk> chunks;
    for (const CarriedTensor& tensor : carried_) {
      for (uint64_t at = 0; at < tensor.bytes; at += kChunkBytes) {
        chunks.push_back({tensor.file, tensor.from + at, layout_.tensor_offset(tensor.index) + at,
                          std::min(kChunkBytes, tensor.bytes - at)});
      }
    }
    std::vector<std::vector<std::byte>> buffers(threads);
    return RunJobs(chunks.size(), threads, [&](uint64_t job, uint32_t worker) {
      const Chunk& chunk = chunks[job];
      std::vector<std::byte>& buffer = buffers[worker];
      buffer.resize(chunk.bytes);
      BERTH_RETURN_IF_ERROR(files_.file(chunk.file).ReadAt(chunk.from, buffer));
      BERTH_RETURN_IF_ERROR(output_->WriteAt(chunk.to, buffer));
      if (progress != nullptr) progress->Add(chunk.bytes);
      return Status();
    });
  }

  const Catalog& catalog_;
  const io::GgufShards& shards_;
  const UnitFiles& files_;
  io::GgufLayout layout_;
  std::unique_ptr<io::OutputFile> output_;
  std::vector<CarriedTensor> carried_;
  std::vector<size_t> layer_tensors_;
  std::vector<uint64_t> strides_;
  std::vector<catalog::UnitSums> checksums_;
  size_t checksums_index_ = 0;
  PackReport report_;
};

// Replacing the model by its own pack would throw away what the pack is verified against.
Status CheckOutput(const Catalog& catalog, const std::string& output) {
  std::vector<std::string> files = {catalog::SidecarPath(catalog)};
  for (const ModelFile& file : catalog.files()) files.push_back(file.path);
  return io::CheckIsNoInput(output, files, "a file of the model itself");
}

}  // namespace

Result<PackReport> PackModel(const PackOptions& options, Progress* progress) {
  if (options.output.empty()) {
    return InvalidArgumentError("the output's name is empty: name a file");
  }
  BERTH_ASSIGN_OR_RETURN(const io::GgufShards shards, io::ReadGgufShards(options.model));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<Catalog> catalog,
                         Catalog::Open(options.model, {.conventions = options.conventions}));
  if (catalog->is_pack()) {
    return FailedPreconditionError(options.model + ": is a pack already");
  }
  BERTH_RETURN_IF_ERROR(CheckOutput(*catalog, options.output));
  BERTH_ASSIGN_OR_RETURN(const UnitFiles files, UnitFiles::Open(*catalog));
  return Packer(*catalog, shards, files).Pack(options, progress);
}

}  // namespace berth::models
