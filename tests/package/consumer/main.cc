// An engine in miniature, compiled against installed headers alone: serves a few tokens of the
// model that it is given, layer by layer.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "berth/runtime.h"

namespace {

berth::Status Serve(const std::string& model) {
  berth::RuntimeOptions options;
  options.model = model;
  options.policy = "lfu";
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<berth::Runtime> runtime,
                         berth::Runtime::Open(options));
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<berth::Session> session, runtime->NewSession());
  const berth::ModelShape& shape = runtime->shape();

  // What a model's attention and router would give.
  std::vector<float> x(shape.hidden, 0.5f), y(shape.hidden);
  std::vector<int32_t> experts(shape.top_k);
  std::vector<float> weights(shape.top_k, 1.0f / static_cast<float>(shape.top_k));
  for (uint64_t token = 0; token < 4; ++token) {
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
      for (uint32_t k = 0; k < shape.top_k; ++k) {
        experts[k] = static_cast<int32_t>((token / 2 + k) % shape.experts);
      }
      berth::Step step;
      step.layer = layer;
      step.rows = 1;
      step.x = x.data();
      step.ids = experts.data();
      step.weights = weights.data();
      step.y = y.data();
      step.pass = token;
      BERTH_ASSIGN_OR_RETURN(const berth::Ticket ticket, session->Enqueue(step));
      BERTH_RETURN_IF_ERROR(session->Wait(ticket));
      for (uint32_t i = 0; i < shape.hidden; ++i) x[i] += y[i];  // the residual stream
    }
  }
  for (float value : x) {
    if (!std::isfinite(value)) return berth::InternalError("an output is not finite");
  }

  // Units that an engine's own kernels would read in place.
  const berth::UnitRef leased[] = {{0, 0}};
  BERTH_ASSIGN_OR_RETURN(berth::Lease lease, session->Acquire(leased));
  BERTH_RETURN_IF_ERROR(lease.Wait());
  if (lease.address(0) == nullptr) return berth::InternalError("a leased unit has no address");
  for (const berth::UnitTensor& tensor : runtime->unit_layout(0)) {
    std::printf("%s: %u x %u at %llu\n", std::string(berth::TensorRoleName(tensor.role)).c_str(),
                tensor.rows, tensor.cols, static_cast<unsigned long long>(tensor.offset));
    if (tensor.role == berth::TensorRole::kDown && tensor.rows != shape.hidden) {
      return berth::InternalError("the down matrix does not lead back to the model's width");
    }
  }
  lease.Release();

  const berth::Counters counters = runtime->stats().counters;
  std::printf("%llu hits, %llu misses, reads by %s\n",
              static_cast<unsigned long long>(counters.cards[0].hits),
              static_cast<unsigned long long>(counters.cards[0].misses),
              runtime->info().io_rung.c_str());
  // The second token of each pair routes as the first did.
  if (counters.cards[0].hits < counters.steps / 2 * shape.top_k) {
    return berth::InternalError("fewer hits than the routing must give");
  }
  return berth::Status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer MODEL\n");
    return 2;
  }
  const berth::Status status = Serve(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
