#include "kernels/gpu/vendor_emulated.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/gpu/emulated/fiber.h"
#include "runtime/base/check.h"
#include "runtime/base/math.h"

namespace berth::kernels::gpu::emulated {
namespace {

constexpr uint32_t kLanes = 32;

// Whoever comes waits until all have come.
struct Barrier {
  uint32_t expected = 0;
  uint32_t arrived = 0;
  uint64_t round = 0;
};

struct Warp {
  Barrier barrier;
  // One for this exchange and one for the next, which nobody starts before all have read this one.
  uint64_t values[2][kLanes];
};

struct Thread {
  Fiber fiber;
  bool running = false;
  // Waits while *waits_for is `round`; null: does not wait.
  const uint64_t* waits_for = nullptr;
  uint64_t round = 0;
};

struct Free {
  void operator()(uint8_t* memory) const { std::free(memory); }
};

struct Card {
  std::mutex mutex;
  std::vector<std::unique_ptr<Thread>> threads;  // kept for the next launch
  std::vector<Warp> warps;
  Barrier block;
  uint32_t thread = 0, block_index = 0, block_threads = 0, grid_blocks = 0;
  std::unique_ptr<uint8_t, Free> shared;
};
Card& TheCard() {
  static Card* const card = new Card;
  return *card;
}

void Arrive(Barrier* barrier) {
  Card& card = TheCard();
  Thread& self = *card.threads[card.thread];
  if (++barrier->arrived == barrier->expected) {
    barrier->arrived = 0;
    ++barrier->round;
    return;
  }
  self.waits_for = &barrier->round;
  self.round = barrier->round;
  self.fiber.Yield();
  self.waits_for = nullptr;
}

// One turn for every thread that need not wait; false when none is left.
bool Turn(Card* card) {
  bool left = false, moved = false;
  for (uint32_t i = 0; i < card->block_threads; ++i) {
    Thread& thread = *card->threads[i];
    if (!thread.running) continue;
    left = true;
    if (thread.waits_for != nullptr && *thread.waits_for == thread.round) continue;
    moved = true;
    card->thread = i;
    thread.running = thread.fiber.Resume();
  }
  BERTH_CHECK_MSG(moved || !left, "all threads of a block wait for one that does not come");
  return left;
}

void RunBlock(Card* card, size_t shared_bytes, const std::function<void()>& kernel) {
  std::memset(card->shared.get(), 0xA5, shared_bytes);
  card->block = {card->block_threads};
  card->warps.assign(card->block_threads / kLanes, Warp{{kLanes}, {}});
  for (uint32_t i = 0; i < card->block_threads; ++i) {
    card->thread = i;
    card->threads[i]->running = card->threads[i]->fiber.Start(kernel);
  }
  while (Turn(card)) {
  }
}

}  // namespace

uint32_t ThreadIndex() { return TheCard().thread; }
uint32_t BlockIndex() { return TheCard().block_index; }
uint32_t BlockThreads() { return TheCard().block_threads; }
uint32_t GridBlocks() { return TheCard().grid_blocks; }
uint8_t* SharedMemory() { return TheCard().shared.get(); }

void SyncBlock() { Arrive(&TheCard().block); }

const uint64_t* Exchange(uint64_t value) {
  Card& card = TheCard();
  Warp& warp = card.warps[card.thread / kLanes];
  uint64_t* const values = warp.values[warp.barrier.round % 2];
  values[card.thread % kLanes] = value;
  Arrive(&warp.barrier);
  return values;
}

void RunGrid(uint32_t blocks, uint32_t threads, size_t shared_bytes,
             const std::function<void()>& kernel) {
  BERTH_CHECK(threads > 0 && threads <= 1024 && threads % kLanes == 0);
  Card& card = TheCard();
  const std::lock_guard<std::mutex> lock(card.mutex);
  while (card.threads.size() < threads) card.threads.push_back(std::make_unique<Thread>());
  // Of its own size, so that AddressSanitizer sees its end.
  constexpr size_t kAlign = 128;
  const size_t bytes = std::max<size_t>(AlignUp(shared_bytes, kAlign), kAlign);
  card.shared.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlign, bytes)));
  BERTH_CHECK(card.shared != nullptr);
  card.block_threads = threads;
  card.grid_blocks = blocks;
  for (card.block_index = 0; card.block_index < blocks; ++card.block_index) {
    RunBlock(&card, shared_bytes, kernel);
  }
  card.shared.reset();
}

}  // namespace berth::kernels::gpu::emulated
