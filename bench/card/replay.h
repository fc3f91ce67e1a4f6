// Launches that are captured once and then replayed and timed.
#ifndef BERTH_BENCH_CARD_REPLAY_H_
#define BERTH_BENCH_CARD_REPLAY_H_

#include <functional>
#include <memory>

#include "bench/card/card.h"
#include "berth/status.h"

namespace berth::bench {

class Replay {
 public:
  using Enqueue = std::function<Status(gpuStream_t)>;

  // What `enqueue` puts on the stream, as a graph; on the emulated card, which has no graphs, as a
  // function that is called again. What the launches name must outlive the replays.
  static Result<Replay> Capture(const CardStream& stream, Enqueue enqueue);
  Replay(Replay&&) noexcept;
  Replay& operator=(Replay&&) noexcept;
  ~Replay();

  // Runs it and returns its seconds, by events on the card; when it returns, it is done. A short
  // one runs twice and the second is timed, so that the card does not wait for the host in between.
  Result<double> Run(const CardStream& stream);

 private:
  struct Impl;
  explicit Replay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_REPLAY_H_
