#include <algorithm>
#include <string>

#include "kernels/formats/format.h"
#include "kernels/gpu/audit_kernel.h"
#include "kernels/gpu/call_plan.h"
#include "kernels/gpu/dot_plan.h"
#include "kernels/gpu/expert_launch.h"
#include "kernels/gpu/expert_workspace.h"
#include "kernels/gpu/plain_kernel.h"
#include "kernels/gpu/prepare_kernel.h"
#include "kernels/gpu/reduce_kernel.h"
#include "kernels/gpu/wide_plan.h"
#include "kernels/gpu/wide_rows.h"

namespace berth::kernels::gpu {
namespace {

Status StatusOf(gpuError_t error, const char* what) {
  if (error == gpuSuccess) return Status();
  return InternalError(std::string(what) + ": " + gpuGetErrorString(error));
}

bool InBytes(TensorType type) {
  return type != TensorType::kF16 && type != TensorType::kBF16 && type != TensorType::kF32;
}

Status CheckMatrix(const MatrixSpec& matrix, const char* name) {
  const Format* const format = FindFormat(matrix.type);
  if (format == nullptr || matrix.cols % format->block_elements != 0) {
    return InvalidArgumentError(std::string("grouped call: the type of ") + name +
                                " has no kernel, or its columns are no multiple of the block");
  }
  return Status();
}

Status Check(const ExpertLauncher& launcher, const CardCall& call) {
  const ExpertSpec& spec = *call.layer.spec;
  const ExpertSizes& sizes = launcher.sizes;
  if (launcher.arithmetic.mode != ArithmeticMode::kExact) {
    return InvalidArgumentError(
        "grouped call: cards have no f32 arithmetic; use --arithmetic exact");
  }
  const uint64_t pairs = uint64_t{call.rows} * call.top_k;
  // Each pair may be of another unit.
  const uint64_t units = call.units != nullptr  ? call.unit_count
                         : pairs < spec.experts ? pairs
                                                : spec.experts;
  if (spec.hidden > sizes.max_hidden || spec.ffn > sizes.max_ffn || call.rows > sizes.max_rows ||
      pairs > sizes.max_pairs || units > sizes.max_units) {
    return InvalidArgumentError("grouped call: " + std::to_string(call.rows) + " rows of top " +
                                std::to_string(call.top_k) + ", " + std::to_string(units) +
                                " units, hidden " + std::to_string(spec.hidden) + ", ffn " +
                                std::to_string(spec.ffn) +
                                " are more than the workspace was made for");
  }
  if (spec.experts > kMostExperts || call.unit_count > kMostExperts) {
    return InvalidArgumentError("grouped call: more than " + std::to_string(kMostExperts) +
                                " experts in a layer");
  }
  if (call.y != nullptr && call.ids == nullptr) {
    return InvalidArgumentError("grouped call: a weighted sum needs the router's ids");
  }
  if (spec.conventions.has_gate()) BERTH_RETURN_IF_ERROR(CheckMatrix(spec.gate, "gate"));
  BERTH_RETURN_IF_ERROR(CheckMatrix(spec.up, "up"));
  return CheckMatrix(spec.down, "down");
}

ByteRows WithColumns(ByteRows rows, uint32_t cols, bool used) {
  rows.stride = (cols + 255) / 256 * 256;
  if (!used) rows.q = nullptr;
  return rows;
}

PrepareArgs PrepareOf(const CardCall& call, const ExpertWorkspace& workspace) {
  const ExpertSpec& spec = *call.layer.spec;
  PrepareArgs a;
  a.list = workspace.list;
  a.rows = call.rows;
  a.top_k = call.top_k;
  a.pair_count = call.rows * call.top_k;
  a.experts = spec.experts;
  a.units = call.units;
  a.unit_count = call.unit_count;
  a.pairs = call.pairs;
  a.ids = call.ids;
  a.first_unit = call.first_unit;
  a.table = call.table;
  a.gate_offset = spec.gate.offset;
  a.up_offset = spec.up.offset;
  a.down_offset = spec.down.offset;
  a.failed_unit = call.failed_unit;
  a.x = call.x;
  a.cols = spec.hidden;
  const bool gate_in_bytes = spec.conventions.has_gate() && InBytes(spec.gate.type);
  a.to = WithColumns(workspace.x_bytes, spec.hidden, InBytes(spec.up.type) || gate_in_bytes);
  if (call.y != nullptr) a.turns = workspace.turns;
  return a;
}

void SetMatrix(ProductArgs* a, uint32_t m, const MatrixSpec& matrix, const CardSiblings& siblings) {
  a->types[m] = matrix.type;
  a->row_bytes[m] = matrix.row_bytes;
  a->bias[m] = siblings.bias;
  a->scale[m] = siblings.scale;
  a->rows = matrix.rows;
  a->cols = matrix.cols;
}

ProductArgs Common(const CardCall& call, const ExpertWorkspace& workspace) {
  const ExpertSpec& spec = *call.layer.spec;
  ProductArgs a;
  a.list = workspace.list;
  a.x_rows = call.rows;
  a.top_k = call.top_k;
  const uint32_t pairs = call.rows * call.top_k;
  a.most_units = call.units != nullptr ? call.unit_count : std::min(pairs, spec.experts);
  a.experts = spec.experts;
  a.weights = call.weights;
  a.weights_before = spec.conventions.weights_before;
  return a;
}

ProductArgs GateUpOf(const CardCall& call, const ExpertWorkspace& workspace) {
  const ExpertSpec& spec = *call.layer.spec;
  ProductArgs a = Common(call, workspace);
  const bool gated = spec.conventions.has_gate();
  a.matrices = gated ? 2 : 1;
  if (gated) SetMatrix(&a, 0, spec.gate, call.layer.gate);
  SetMatrix(&a, a.matrices - 1, spec.up, call.layer.up);
  a.ids = call.ids;
  a.x = call.x;
  a.bytes = WithColumns(workspace.x_bytes, spec.hidden, true);
  a.activation = spec.conventions.activation;
  a.alpha = spec.conventions.alpha;
  a.limit = spec.conventions.limit;
  a.h = workspace.h;
  a.h_bytes = WithColumns(workspace.h_bytes, spec.ffn, InBytes(spec.down.type));
  a.h_arrived = workspace.h_arrived;
  return a;
}

ProductArgs DownOf(const CardCall& call, const ExpertWorkspace& workspace) {
  const ExpertSpec& spec = *call.layer.spec;
  ProductArgs a = Common(call, workspace);
  a.down = true;
  SetMatrix(&a, 0, spec.down, call.layer.down);
  a.x = workspace.h;
  a.bytes = WithColumns(workspace.h_bytes, spec.ffn, true);
  a.partials = call.partials;
  a.ids = call.ids;
  a.h = workspace.h;
  a.failed_unit = call.failed_unit;
  if (call.y != nullptr) {
    a.y = call.y;
    a.turns = workspace.turns;
  }
  return a;
}

WideRows WithColumns(WideRows rows, uint32_t cols) {
  rows.stride = (cols + kWideColumns - 1) / kWideColumns * kWideColumns;
  return rows;
}

bool IsWide(const ProductArgs& a) { return a.wide_over != kNoneWide; }

// Units of more than exact_rows pairs run wide where there are so many rows and the kernel of the
// type has such a path. How many pairs at a time may be chosen, whether they do may not.
void SetWide(const ExpertLauncher& launcher, const KernelChoice& kernel,
             const ExpertWorkspace& workspace, PrepareArgs* prepare, ProductArgs* gate_up,
             ProductArgs* down) {
  const uint32_t over = launcher.arithmetic.exact_rows;
  if (prepare->rows <= over || !launcher.dispatch.tuned) return;
  const bool chosen = kernel.kind == KernelKind::kWide && kernel.pairs >= kWideFewestPairs;
  const uint32_t most =
      chosen ? kernel.pairs / kWideFewestPairs * kWideFewestPairs : launcher.dispatch.wide_pairs;
  for (ProductArgs* const a : {gate_up, down}) {
    a->wide_pairs = std::min(WidePairs(*a), most);
    if (a->wide_pairs == 0) continue;
    a->wide = WithColumns(a->down ? workspace.h_wide : workspace.x_wide, a->cols);
    a->wide_over = prepare->wide_over = over;
  }
  if (gate_up->wide_over == over) prepare->wide = gate_up->wide;
  if (down->wide_over == over) {
    gate_up->h_wide = down->wide;
    gate_up->h_wide_over = over;
  }
}

// Of a unit, if all pairs and experts were alike.
bool HasManyPairs(const Dispatch& dispatch, const ExpertSpec& spec, uint64_t pairs) {
  return pairs >= uint64_t{dispatch.matrix_pairs} * spec.experts;
}

// What runs a product, and how it cuts shared memory. `plain`: it may be had without a change of
// bits.
Tuned Plan(const ExpertLauncher& launcher, const KernelChoice& kernel, bool many, bool plain,
           ProductArgs* args) {
  if (!launcher.dispatch.tuned || (kernel.kind == KernelKind::kPlain && plain)) {
    return Tuned::kNone;
  }
  if (kernel.kind == KernelKind::kDots) many = false;
  if (kernel.kind == KernelKind::kMatrices) many = true;
  return PlanTuned(many && !IsWide(*args), launcher.processors, args);
}

// The call in one launch; false: there is no kernel for that.
bool PlanAtOnce(const ExpertLauncher& launcher, const CardCall& call,
                const ExpertWorkspace& workspace, CallArgs* args) {
  const bool many =
      HasManyPairs(launcher.dispatch, *call.layer.spec, uint64_t{call.rows} * call.top_k);
  if (call.kernel.kind != KernelKind::kAuto || many || !launcher.dispatch.tuned ||
      call.rows > launcher.arithmetic.exact_rows || call.units != nullptr || call.ids == nullptr ||
      call.y == nullptr) {
    return false;
  }
  args->prepare = PrepareOf(call, workspace);
  args->gate_up = GateUpOf(call, workspace);
  args->gate_up.h_bytes.q = nullptr;
  args->down = DownOf(call, workspace);
  args->down.turns = workspace.call_turns;
  args->down.flags = workspace.call_flags;
  return PlanCall(launcher.processors, args);
}

void Count(const ProductArgs& args, Tuned tuned, KernelLaunches* ran) {
  if (ran == nullptr) return;
  ++(tuned == Tuned::kNone       ? ran->plain
     : tuned == Tuned::kMatrices ? ran->matrices
     : IsWide(args)              ? ran->wide
                                 : ran->dots);
}

}  // namespace

uint64_t ExpertWorkspaceBytes(const ExpertSizes& sizes) {
  return ExpertWorkspace(sizes, nullptr).bytes;
}

Status LoadExpertKernels() {
  BERTH_RETURN_IF_ERROR(StatusOf(PreparePrepareKernel(), "prepare kernel"));
  BERTH_RETURN_IF_ERROR(StatusOf(PrepareReduceKernel(), "reduce kernel"));
  BERTH_RETURN_IF_ERROR(StatusOf(PrepareAuditKernel(), "audit kernel"));
  BERTH_RETURN_IF_ERROR(StatusOf(PreparePlainKernel(), "plain kernel"));
  BERTH_RETURN_IF_ERROR(StatusOf(PrepareCallKernels(), "call kernels"));
  return StatusOf(PrepareTunedKernels(), "tuned kernels");
}

std::vector<KernelChoice> ExpertKernels(const ExpertLauncher& launcher, const ExpertSpec& spec,
                                        uint32_t rows, uint32_t top_k) {
  const uint32_t pairs = rows * top_k;
  const ExpertSizes sizes = {spec.hidden, spec.ffn, rows, pairs, std::min(pairs, spec.experts)};
  const ExpertWorkspace workspace(sizes, nullptr);
  CardCall call;
  call.layer.spec = &spec;
  call.rows = rows;
  call.top_k = top_k;
  PrepareArgs prepare = PrepareOf(call, workspace);
  ProductArgs gate_up = GateUpOf(call, workspace), down = DownOf(call, workspace);
  SetWide(launcher, {}, workspace, &prepare, &gate_up, &down);
  std::vector<KernelChoice> kernels;
  if (IsWide(gate_up) || IsWide(down)) {
    const auto most = [](const ProductArgs& a) { return IsWide(a) ? a.wide_pairs : 0; };
    for (uint32_t n = std::max(most(gate_up), most(down)); n >= kWideFewestPairs;
         n -= kWideFewestPairs) {
      kernels.push_back({KernelKind::kWide, n});
    }
    return kernels;
  }
  const auto has = [&](KernelKind kind, Tuned tuned) {
    ProductArgs first = gate_up, second = down;
    return Plan(launcher, {kind}, false, true, &first) == tuned ||
           Plan(launcher, {kind}, false, true, &second) == tuned;
  };
  if (has(KernelKind::kDots, Tuned::kDots)) kernels.push_back({KernelKind::kDots});
  if (has(KernelKind::kMatrices, Tuned::kMatrices)) {
    const bool first = HasManyPairs(launcher.dispatch, spec, pairs);
    kernels.insert(first ? kernels.begin() : kernels.end(), KernelChoice{KernelKind::kMatrices});
  }
  kernels.push_back({KernelKind::kPlain});
  return kernels;
}

Status LaunchExperts(const ExpertLauncher& launcher, const CardCall& call, gpuStream_t stream,
                     KernelLaunches* ran) {
  BERTH_RETURN_IF_ERROR(Check(launcher, call));
  // A wave of no units may have no array of them either.
  if (call.rows == 0 || (call.ids == nullptr && call.unit_count == 0)) return Status();
  const ExpertWorkspace workspace(launcher.sizes, launcher.workspace);
  if (CallArgs at_once; PlanAtOnce(launcher, call, workspace, &at_once)) {
    if (ran != nullptr) ran->dots += 2, ++ran->at_once;
    return StatusOf(LaunchCall(at_once, launcher.processors, stream), "call kernel");
  }
  PrepareArgs prepare = PrepareOf(call, workspace);
  ProductArgs gate_up = GateUpOf(call, workspace), down = DownOf(call, workspace);
  SetWide(launcher, call.kernel, workspace, &prepare, &gate_up, &down);
  BERTH_RETURN_IF_ERROR(StatusOf(LaunchPrepare(prepare, stream), "prepare kernel"));
  const bool many =
      HasManyPairs(launcher.dispatch, *call.layer.spec, uint64_t{call.rows} * call.top_k);
  const bool plain = !IsWide(gate_up) && !IsWide(down);
  const auto plan = [&](ProductArgs* args) {
    return Plan(launcher, call.kernel, many, plain, args);
  };
  const Tuned of_gate_up = plan(&gate_up), of_down = plan(&down);
  // Then down puts h into 8 bits itself.
  if (of_down == Tuned::kDots && down.local_rows != 0) gate_up.h_bytes.q = nullptr;
  const auto launch = [&](const ProductArgs& args, Tuned tuned) {
    Count(args, tuned, ran);
    return tuned == Tuned::kNone
               ? StatusOf(LaunchPlain(args, launcher.processors, stream), "plain kernel")
               : StatusOf(LaunchTuned(tuned, args, launcher.processors, stream), "tuned kernel");
  };
  BERTH_RETURN_IF_ERROR(launch(gate_up, of_gate_up));
  BERTH_RETURN_IF_ERROR(launch(down, of_down));
  return Status();
}

Status LaunchReduce(const ReduceCall& call, gpuStream_t stream) {
  return StatusOf(LaunchReduceKernel(call, stream), "reduce kernel");
}

Status LaunchAudit(const std::byte* slot, const std::byte* expected, size_t bytes, uint64_t* differ,
                   gpuStream_t stream) {
  return StatusOf(LaunchAuditKernel(slot, expected, bytes, differ, stream), "audit kernel");
}

}  // namespace berth::kernels::gpu
