#include "bench/card/check_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace berth::bench {

using kernels::Activation;
using kernels::ExpertSpec;
using kernels::testing::DecodedUnit;
using kernels::testing::Fused;
using kernels::testing::Layer;

namespace {

// Eight-bit activations: 0.4 % of their root mean square in gate and up, more in the input of down.
constexpr double kMostError = 2.5e-2;
constexpr double kMostErrorOfFloats = 1e-5;
// Pairs that are compared with double precision, which takes the host long.
constexpr uint32_t kReferencePairs = 6;

bool Same(const float* a, const float* b, uint64_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}
bool Same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && Same(a.data(), b.data(), a.size());
}

// Every way to the same result, the first one first.
std::vector<RunPlan> Plans(uint32_t units, bool brief) {
  if (brief) {
    return {{"router ids"},
            {"router ids, plain kernel", false},
            {"waves of 4 from ring and host", true, 4, {Home::kRing, Home::kMapped}}};
  }
  return {
      {"router ids"},
      {"router ids once more"},
      {.name = "router ids, launch by launch", .kernel = {kernels::KernelKind::kDots}},
      {"router ids, plain kernel", false},
      {"one wave", true, units},
      {"waves of 1 from the ring", true, 1, {Home::kRing}},
      {"waves of 2 from arena, ring and host", true, 2, {Home::kArena, Home::kRing, Home::kMapped}},
      {"waves of 3 in place", true, 3, {Home::kMapped}},
  };
}

class Case {
 public:
  Case(const CheckCase& c, StepRunner* runner)
      : c_(c),
        runner_(*runner),
        layer_(MakeLayer(c)),
        inputs_(c.mixed ? MixedStep(layer_.spec, c.rows, c.shape.top_k)
                        : FullStep(layer_.spec, c.rows, c.shape.top_k)),
        rows_of_(inputs_.RowsOfExperts(layer_.spec.experts)) {}

  Result<CheckResult> Run() {
    BERTH_ASSIGN_OR_RETURN(placed_, PlacedLayer::Place(runner_.stream(), layer_));
    BERTH_ASSIGN_OR_RETURN(want_, HostStep(layer_, inputs_));
    BERTH_RETURN_IF_ERROR(RunAll());
    CompareWithHost();
    CompareWithDoubles();
    if (!c_.brief) {
      ProveComparison();
      BERTH_RETURN_IF_ERROR(ProveAudit());
      BERTH_RETURN_IF_ERROR(CheckMissingUnit());
    }
    BERTH_ASSIGN_OR_RETURN(const uint64_t differ, placed_.AuditAll(runner_.stream()));
    if (differ != 0) Fault(std::to_string(differ) + " bytes of units or between them changed");
    return result_;
  }

 private:
  void Fault(std::string what) { result_.faults.push_back(std::move(what)); }
  bool IsExact(int32_t id) const {
    return runner_.arithmetic().IsExact(rows_of_[static_cast<size_t>(id)]);
  }
  const float* Partial(const StepOutputs& of, uint32_t pair) const {
    return &of.partials[uint64_t{pair} * layer_.spec.hidden];
  }

  Status RunAll() {
    const auto units = static_cast<uint32_t>(
        std::count_if(rows_of_.begin(), rows_of_.end(), [](uint32_t rows) { return rows > 0; }));
    for (const RunPlan& plan : Plans(units, c_.brief)) {
      BERTH_ASSIGN_OR_RETURN(StepOutputs got, runner_.Run(&placed_, inputs_, plan));
      if (++result_.runs == 1) {
        got_ = std::move(got);
        if (!Same(got_.y, HostSum(layer_.spec, inputs_, got_.partials))) {
          Fault("the weighted sum is not that of the partial results");
        }
        continue;
      }
      // The plain kernel computes wide units in the exact arithmetic.
      const bool all_exact = plan.tuned || !HasWidePairs();
      if (all_exact ? !Same(got.partials, got_.partials) : !SameExactPairs(got)) {
        Fault(plan.name + ": other partial results");
      }
      if (all_exact && !Same(got.y, got_.y)) Fault(plan.name + ": another weighted sum");
    }
    return Status();
  }

  bool SameExactPairs(const StepOutputs& got) const {
    for (uint32_t pair = 0; pair < inputs_.pairs(); ++pair) {
      if (inputs_.ids[pair] >= 0 && !IsExact(inputs_.ids[pair])) continue;
      if (!Same(Partial(got, pair), Partial(got_, pair), layer_.spec.hidden)) return false;
    }
    return true;
  }
  bool HasWidePairs() const {
    return std::any_of(inputs_.ids.begin(), inputs_.ids.end(),
                       [&](int32_t id) { return id >= 0 && !IsExact(id); });
  }

  void CompareWithHost() {
    const uint32_t hidden = layer_.spec.hidden;
    uint64_t wrong = 0;
    for (uint32_t pair = 0; pair < inputs_.pairs(); ++pair) {
      const int32_t id = inputs_.ids[pair];
      const bool same = Same(Partial(got_, pair), Partial(want_, pair), hidden);
      if (id >= 0 && !IsExact(id)) {
        ++result_.wide_pairs;
        result_.wide_equal += same ? 1 : 0;
        continue;
      }
      if (id >= 0) ++result_.exact_pairs;  // pairs of nobody keep the poison
      wrong += same ? 0 : 1;
    }
    if (wrong > 0) Fault("the host's bits are others for " + std::to_string(wrong) + " pairs");
  }

  void CompareWithDoubles() {
    const ExpertSpec& spec = layer_.spec;
    double errors = 0, squares = 0;
    std::vector<DecodedUnit> units(spec.experts);
    std::vector<bool> decoded(spec.experts);
    const uint32_t step = std::max(1u, inputs_.pairs() / kReferencePairs) | 1;
    for (uint32_t pair = 0; pair < inputs_.pairs(); pair += step) {
      if (inputs_.ids[pair] < 0) continue;
      const auto expert = static_cast<uint32_t>(inputs_.ids[pair]);
      if (!decoded[expert]) units[expert] = DecodedUnit(spec, layer_.units[expert].data());
      decoded[expert] = true;
      const std::span<const float> x(&inputs_.x[uint64_t{pair / inputs_.top_k} * spec.hidden],
                                     spec.hidden);
      const std::vector<double> want = kernels::testing::ReferenceExpert(
          spec, units[expert], expert, x, static_cast<double>(inputs_.weights[pair]));
      for (uint32_t i = 0; i < spec.hidden; ++i) {
        const double error = static_cast<double>(Partial(got_, pair)[i]) - want[i];
        errors += error * error;
        squares += want[i] * want[i];
      }
    }
    result_.rms = std::sqrt(errors / squares);
    const double most = c_.pair.gate_up->unpack == nullptr ? kMostErrorOfFloats : kMostError;
    if (result_.rms == 0) Fault("no error at all against double precision: nothing was computed");
    if (!(result_.rms <= most)) {
      Fault("error of " + std::to_string(100 * result_.rms) + " % against double precision");
    }
  }

  // A comparison that no fault could fail would prove nothing.
  void ProveComparison() {
    StepOutputs other = got_;
    reinterpret_cast<unsigned char*>(other.y.data())[0] ^= 1;
    if (Same(other.y, got_.y)) Fault("a flipped bit of an output was not seen");
  }

  // One bit of a weight changes the audit, and the results; the unit is whole again afterwards.
  Status ProveAudit() {
    const CardStream& stream = runner_.stream();
    const auto expert = static_cast<uint32_t>(inputs_.ids[0]);
    const kernels::MatrixSpec& down = layer_.spec.down;
    bool seen = false;
    for (uint32_t attempt = 0; attempt < 8 && !seen; ++attempt) {
      // Somewhere in the row: which bits matter differs by format.
      const uint64_t offset = down.offset + down.row_bytes / 2 + attempt;
      BERTH_RETURN_IF_ERROR(placed_.FlipByte(stream, expert, offset, 1));
      BERTH_ASSIGN_OR_RETURN(const uint64_t differ, placed_.AuditSlot(stream, expert));
      if (differ != 1) {
        Fault("the audit counts " + std::to_string(differ) + " bytes where one was flipped");
      }
      BERTH_ASSIGN_OR_RETURN(const StepOutputs got,
                             runner_.Run(&placed_, inputs_, {"flipped weight"}));
      seen = !Same(got.partials, got_.partials);
      BERTH_RETURN_IF_ERROR(placed_.FlipByte(stream, expert, offset, 1));
    }
    if (!seen) Fault("a flipped bit of a weight changed no result");
    return Status();
  }

  Status CheckMissingUnit() {
    RunPlan plan = {"missing unit"};
    plan.missing_expert = static_cast<uint32_t>(inputs_.ids[0]);
    uint32_t failed = 0;
    BERTH_RETURN_IF_ERROR(runner_.Run(&placed_, inputs_, plan, &failed).status());
    if (failed != 1 + PlacedLayer::kFirstUnit + plan.missing_expert) {
      Fault("a unit without an address was reported as " + std::to_string(failed));
    }
    return Status();
  }

  const CheckCase& c_;
  StepRunner& runner_;
  const Layer layer_;
  const StepInputs inputs_;
  const std::vector<uint32_t> rows_of_;  // by expert
  PlacedLayer placed_;
  StepOutputs want_, got_;
  CheckResult result_;
};

}  // namespace

std::string CheckCase::Regime() const {
  return mixed ? "1 to " + std::to_string(rows) + " rows a unit"
               : std::to_string(rows) + (rows == 1 ? " row a unit" : " rows a unit");
}

Layer MakeLayer(const CheckCase& c) {
  kernels::testing::LayerOptions options;
  options.gate_up_type = c.pair.gate_up->type;
  options.down_type = c.pair.down->type;
  options.experts = c.shape.experts;
  options.hidden = c.shape.hidden;
  options.ffn = c.shape.ffn;
  if (c.turn > 0) {
    options.conventions.activation = static_cast<Activation>(c.turn % 5);
    options.conventions.weights_before = c.turn % 7 == 0;
    options.fused = static_cast<Fused>(c.turn % 3);
    options.bias = c.turn % 2 == 0;
    options.scale = c.turn / 2 % 2 == 0;
  }
  return Layer(options);
}

Result<CheckResult> RunCase(const CheckCase& c, StepRunner* runner) {
  return Case(c, runner).Run();
}

}  // namespace berth::bench
