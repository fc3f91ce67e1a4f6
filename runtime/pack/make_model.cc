#include "runtime/pack/make_model.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "io/file/output_file.h"
#include "io/file/phased_buffer.h"
#include "runtime/base/hash.h"
#include "runtime/base/mix.h"
#include "runtime/pack/model_plan.h"

namespace berth::models {
namespace {

constexpr uint64_t kChunkBytes = 4 << 20;

struct Chunk {
  size_t tensor = 0;
  uint64_t first = 0;  // block, or element of an F32 tensor
  uint64_t count = 0;
};

// A value depends on its place alone.
uint64_t Random(uint64_t seed, uint64_t index) { return Mix64(seed + (index + 1) * kMixStep); }

void FillFloats(uint64_t seed, uint64_t first, uint64_t count, float middle, std::byte* to) {
  for (uint64_t i = 0; i < count; ++i) {
    // 24 bits, in [-0.1, 0.1).
    const auto bits = static_cast<int32_t>(Random(seed, first + i) >> 40);
    const float value = middle + static_cast<float>(bits - (1 << 23)) * (0.1f / (1 << 23));
    std::memcpy(to + i * sizeof(value), &value, sizeof(value));
  }
}

std::vector<Chunk> ChunksOf(const ModelPlan& plan) {
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& tensor = plan.tensors[i];
    const uint64_t item = tensor.format != nullptr ? tensor.format->block_bytes : sizeof(float);
    const uint64_t items = tensor.bytes / item;
    const uint64_t step = std::max<uint64_t>(1, kChunkBytes / item);
    for (uint64_t first = 0; first < items; first += step) {
      chunks.push_back({i, first, std::min(step, items - first)});
    }
  }
  return chunks;
}

Status WriteChunk(const ModelPlan& plan, const Chunk& chunk, uint64_t seed, io::OutputFile* output,
                  io::PhasedBuffer* buffer, uint64_t* written) {
  const PlannedTensor& tensor = plan.tensors[chunk.tensor];
  const uint64_t tensor_seed = Random(seed, Hash64(tensor.name.data(), tensor.name.size()));
  const uint64_t item = tensor.format != nullptr ? tensor.format->block_bytes : sizeof(float);
  const uint64_t offset =
      plan.layouts[tensor.file].tensor_offset(tensor.index) + chunk.first * item;
  const std::span<std::byte> bytes = buffer->Prepare(chunk.count * item, offset);
  if (tensor.format != nullptr) {
    tensor.format->generate(tensor_seed, chunk.first, chunk.count, bytes.data());
  } else {
    FillFloats(tensor_seed, chunk.first, chunk.count, tensor.fill == Fill::kAround1 ? 1.0f : 0.0f,
               bytes.data());
  }
  *written = bytes.size();
  return output->WriteAt(offset, bytes);
}

}  // namespace

Result<MakeModelReport> MakeModel(const MakeModelOptions& options, Progress* progress) {
  BERTH_ASSIGN_OR_RETURN(const ModelPlan plan, PlanModel(options));
  MakeModelReport report{plan.paths, plan.tensors.size()};
  std::vector<std::unique_ptr<io::OutputFile>> outputs;
  for (size_t i = 0; i < plan.paths.size(); ++i) {
    const io::GgufLayout& layout = plan.layouts[i];
    BERTH_ASSIGN_OR_RETURN(auto output, io::OutputFile::Create(plan.paths[i], layout.file_bytes(),
                                                               {.replace = options.replace}));
    BERTH_RETURN_IF_ERROR(output->WriteAt(0, layout.header()));
    report.bytes += layout.file_bytes();
    outputs.push_back(std::move(output));
  }
  if (progress != nullptr) progress->Begin("writing", plan.tensor_bytes);
  const std::vector<Chunk> chunks = ChunksOf(plan);
  const uint32_t threads = std::max(1u, options.threads);
  std::vector<io::PhasedBuffer> buffers(threads);
  BERTH_RETURN_IF_ERROR(RunJobs(chunks.size(), threads, [&](uint64_t job, uint32_t worker) {
    io::OutputFile* output = outputs[plan.tensors[chunks[job].tensor].file].get();
    uint64_t written = 0;
    BERTH_RETURN_IF_ERROR(
        WriteChunk(plan, chunks[job], options.seed, output, &buffers[worker], &written));
    if (progress != nullptr) progress->Add(written);
    return Status();
  }));
  BERTH_RETURN_IF_ERROR(io::CommitAll(outputs));
  return report;
}

}  // namespace berth::models
