#include "bench/card/replay.h"

#include <utility>

#include "bench/stopwatch.h"
#include "kernels/gpu/gpu_status.h"
#include "kernels/gpu/vendor_timing.h"

namespace berth::bench {

using kernels::gpu::GpuStatus;

#if BERTH_GPU_TIMING

namespace {

constexpr const char* kWhere = "captured launches";
// Replays up to this long have another one in front, during which the host enqueues them.
constexpr double kShort = 5e-3;

}  // namespace

struct Replay::Impl {
  gpuGraphExec_t graph = nullptr;
  gpuEvent_t begin = nullptr, end = nullptr;
  double last = kShort;  // seconds of the replay before

  ~Impl() {
    if (graph != nullptr) (void)gpuGraphExecDestroy(graph);
    if (begin != nullptr) (void)gpuEventDestroy(begin);
    if (end != nullptr) (void)gpuEventDestroy(end);
  }
};

Result<Replay> Replay::Capture(const CardStream& stream, Enqueue enqueue) {
  auto impl = std::make_unique<Impl>();
  BERTH_RETURN_IF_ERROR(
      GpuStatus(gpuStreamBeginCapture(stream.get(), gpuStreamCaptureModeThreadLocal), kWhere,
                "StreamBeginCapture"));
  const Status enqueued = enqueue(stream.get());
  gpuGraph_t graph = nullptr;
  const Status captured =
      GpuStatus(gpuStreamEndCapture(stream.get(), &graph), kWhere, "StreamEndCapture");
  BERTH_RETURN_IF_ERROR(enqueued);
  BERTH_RETURN_IF_ERROR(captured);
  const Status made =
      GpuStatus(gpuGraphInstantiate(&impl->graph, graph, 0), kWhere, "GraphInstantiate");
  (void)gpuGraphDestroy(graph);
  BERTH_RETURN_IF_ERROR(made);
  for (gpuEvent_t* event : {&impl->begin, &impl->end}) {
    BERTH_RETURN_IF_ERROR(
        GpuStatus(gpuEventCreateWithFlags(event, gpuEventDefault), kWhere, "EventCreateWithFlags"));
  }
  return Replay(std::move(impl));
}

Result<double> Replay::Run(const CardStream& stream) {
  if (impl_->last < kShort) {
    BERTH_RETURN_IF_ERROR(
        GpuStatus(gpuGraphLaunch(impl_->graph, stream.get()), kWhere, "GraphLaunch"));
  }
  BERTH_RETURN_IF_ERROR(
      GpuStatus(gpuEventRecord(impl_->begin, stream.get()), kWhere, "EventRecord"));
  BERTH_RETURN_IF_ERROR(
      GpuStatus(gpuGraphLaunch(impl_->graph, stream.get()), kWhere, "GraphLaunch"));
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuEventRecord(impl_->end, stream.get()), kWhere, "EventRecord"));
  BERTH_RETURN_IF_ERROR(stream.Synchronize());
  float milliseconds = 0;
  BERTH_RETURN_IF_ERROR(GpuStatus(gpuEventElapsedTime(&milliseconds, impl_->begin, impl_->end),
                                  kWhere, "EventElapsedTime"));
  impl_->last = milliseconds * 1e-3;
  return impl_->last;
}

#else

struct Replay::Impl {
  Enqueue enqueue;
};

Result<Replay> Replay::Capture(const CardStream&, Enqueue enqueue) {
  auto impl = std::make_unique<Impl>();
  impl->enqueue = std::move(enqueue);
  return Replay(std::move(impl));
}

Result<double> Replay::Run(const CardStream& stream) {
  const Stopwatch watch(Clock::kWall);
  BERTH_RETURN_IF_ERROR(impl_->enqueue(stream.get()));
  BERTH_RETURN_IF_ERROR(stream.Synchronize());
  return watch.Seconds();
}

#endif

Replay::Replay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;
Replay::~Replay() = default;

}  // namespace berth::bench
