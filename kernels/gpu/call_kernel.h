// A call of few rows in one launch, of a format of gate and up and one of down: every block makes
// the list for itself (call_list.h), puts the inputs that it needs into 8 bits, and takes a share
// of the tiles of gate and up, then one of the tiles of down, then its part of the sum.
//
// A share of down begins when those shares of gate and up have ended that its inputs come from: the
// same tenths of the work are the same units, so that these are few. Meanwhile its weights are on
// their way. Nobody waits before all shares of gate and up have been taken, and these wait for
// nobody: so every wait ends, however few blocks fit on the card (shares.h).
#ifndef BERTH_KERNELS_GPU_CALL_KERNEL_H_
#define BERTH_KERNELS_GPU_CALL_KERNEL_H_

#include <type_traits>

#include "kernels/gpu/call_list.h"
#include "kernels/gpu/dot_kernel.h"

namespace berth::kernels::gpu {

// How often the tables lie in shared memory, down's where gate's and up's was, if it is another.
template <typename FG, typename FD>
struct CallTables {
  static constexpr uint32_t kGateUp = kDotCopies<FG>;
  static constexpr uint32_t kDown = kDotCopies<FD>;
  static constexpr uint32_t kGateUpWords = FG::kTableWords * kGateUp;
  static constexpr uint32_t kDownWords = FD::kTableWords * kDown;
  static constexpr uint32_t kWords = kGateUpWords > kDownWords ? kGateUpWords : kDownWords;
  static constexpr bool kOther = kDown > 0 && !std::is_same_v<FG, FD>;
};

// A block's shared memory: CallFixedBytes, tables, inputs in 8 bits, stages.
template <typename FG, typename FD>
class CallMemory {
  using Tables = CallTables<FG, FD>;

 public:
  BERTH_CARD_ONLY CallMemory(const CallArgs& c, uint8_t* shared) : c_(c), shared_(shared) {}

  // Once, before anything else, both. The block synchronizes behind them.
  BERTH_CARD_ONLY void MakeBarriers() const {
    RowStages<FG>::MakeBarriers(c_.gate_up, Barriers(false));
    RowStages<FD>::MakeBarriers(c_.down, Barriers(true));
  }
  BERTH_CARD_ONLY void FillTable() const {
    if constexpr (Tables::kGateUp > 0) FillTableCopies<FG, Tables::kGateUp>(table());
  }
  // When no share of gate and up is left; the block synchronizes behind it. `words`: the thread's
  // first.
  using DownTable = TableFill<FD, Tables::kDown>;
  BERTH_CARD_ONLY void FillDownTable(typename DownTable::Words words) const {
    if constexpr (Tables::kOther) {
      DownTable::Store(table(), ThreadIndex(), words);
      DownTable::Fill(table(), DownTable::Next(ThreadIndex()));
    }
  }
  // Where inputs lie later.
  BERTH_CARD_ONLY uint32_t* counts() const { return reinterpret_cast<uint32_t*>(inputs()); }

  BERTH_CARD_ONLY LocalRows<Half::kGateUp> InputsOfGateUp(const CallList& list) const {
    return LocalRows<Half::kGateUp>(c_.gate_up, list.pairs(), inputs(), kHalves<FG>);
  }
  BERTH_CARD_ONLY LocalRows<Half::kDown> InputsOfDown(const CallList& list) const {
    return LocalRows<Half::kDown>(c_.down, list.pairs(), inputs(), kHalves<FD>);
  }
  // What this warp takes its part of the block's shares by.
  BERTH_CARD_ONLY auto GateUp(const CallList& list, const LocalRows<Half::kGateUp>& rows) const {
    return ShareDots<FG, Half::kGateUp>(c_.gate_up, list.words(false), list.at_hand(false),
                                        list.units(), list.pairs(), rows,
                                        TableOfLane<Tables::kGateUp>(table()),
                                        RowStages<FG>(c_.gate_up, stages(), Barriers(false)));
  }
  BERTH_CARD_ONLY auto Down(const CallList& list, const LocalRows<Half::kDown>& rows) const {
    return ShareDots<FD, Half::kDown>(c_.down, list.words(true), list.at_hand(true), list.units(),
                                      list.pairs(), rows, TableOfLane<Tables::kDown>(table()),
                                      RowStages<FD>(c_.down, stages(), Barriers(true)));
  }

 private:
  template <typename F>
  static constexpr bool kHalves = (F::kKind.minima && F::kKind.halves);

  BERTH_CARD_ONLY uint64_t* Barriers(bool down) const {
    const uint32_t warps = BlockThreads() / kWarp;
    return reinterpret_cast<uint64_t*>(shared_ + kCallBarriersAt) +
           (ThreadIndex() / kWarp + (down ? warps : 0)) * kDotBarriers;
  }
  BERTH_CARD_ONLY uint32_t* table() const {
    return reinterpret_cast<uint32_t*>(shared_ + CallFixedBytes(BlockThreads() / kWarp));
  }
  BERTH_CARD_ONLY uint8_t* inputs() const {
    return reinterpret_cast<uint8_t*>(table() + Tables::kWords);
  }
  BERTH_CARD_ONLY uint8_t* stages() const {
    return inputs() + c_.input_bytes + ThreadIndex() / kWarp * c_.stage_bytes;
  }

  const CallArgs& c_;
  uint8_t* const shared_;
};

inline constexpr uint32_t kNoShare = 0xffffffff;

// Whether all shares of gate and up have been taken; `word`: of the block, 0 until that is known.
// By a warp.
BERTH_CARD_ONLY bool NoneIsLeft(const CallArgs& c, uint32_t* word) {
  uint32_t none = 0;
  if (Lane() == 0) {
    none = AtomicAdd(word, 0);
    if (none == 0 && Poll(c.down.turns) >= GridBlocks()) {
      AtomicSwapIf(word, 0, 1);
      none = 1;
    }
  }
  return FromLane(none, 0) != 0;
}

// A block's shares are a chain: the flag of one that has ended says which one the block had before.
BERTH_CARD_ONLY uint32_t FlagOf(uint32_t before) { return before + 2; }
BERTH_CARD_ONLY uint32_t ShareOfFlag(uint32_t flag) { return flag - 2; }

// Until the shares of gate and up have ended that the share of down that was found needs. By the
// first warp; the block synchronizes behind it.
BERTH_CARD_ONLY void WaitForInputs(const CallArgs& c, const CallList& list) {
  const CallList::Shares shares = list.SharesBefore();
  for (uint32_t share = shares.begin + Lane(); share < shares.end; share += kWarp) {
    WaitUntil(c.down, c.down.flags + share, 1);
  }
  Fence();
}

// What a block knows from one share to the next, in shared memory, which leaves registers to the
// products: the share it is at and the one that it had before.
struct CallState {
  uint32_t* const words;  // CallList::state()

  BERTH_CARD_ONLY uint32_t& share() const { return words[1]; }
  BERTH_CARD_ONLY uint32_t& before() const { return words[2]; }
  BERTH_CARD_ONLY uint32_t& none_left() const { return words[3]; }  // NoneIsLeft

  BERTH_CARD_ONLY void Begin(uint32_t first_share) const {
    share() = first_share;
    before() = kNoShare;
    none_left() = 0;
  }
};

// By a thread: the block's share of gate and up has ended. Takes the next one, if some may be left.
BERTH_CARD_ONLY void PublishShare(const CallArgs& c, const CallState& state) {
  const uint32_t share = state.share();
  Fence();
  Publish(c.down.flags + share, FlagOf(state.before()));
  const uint32_t next = state.none_left() != 0 ? GridBlocks() : AtomicAdd(c.down.turns, 1);
  if (next < GridBlocks()) state.before() = share;
  state.share() = next;
}

// The block's shares of down, from the last one on that it took.
template <typename Dots>
BERTH_CARD_ONLY void RunDownShares(const CallArgs& c, const CallList& list, bool asked,
                                   Dots* down) {
  const CallState state = {list.state()};
  for (;;) {
    down->RunFound(asked, false);
    asked = false;
    SyncBlock();
    if (ThreadIndex() == 0) {
      Fence();
      AtomicAdd(c.down.turns + 1, 1);
    }
    const uint32_t share = state.before();
    if (share == kNoShare) return;
    list.Find(share);
    if (ThreadIndex() == 0) state.before() = ShareOfFlag(Poll(c.down.flags + share));
    if (ThreadIndex() < kWarp) WaitForInputs(c, list);
    SyncBlock();
  }
}

// From the share on that the block's state has.
template <typename FG, typename FD>
BERTH_CARD_ONLY void RunCallShares(const CallArgs& c, const CallMemory<FG, FD>& memory,
                                   const CallList& list) {
  using DownTable = typename CallMemory<FG, FD>::DownTable;
  const CallState state = {list.state()};
  const LocalRows<Half::kGateUp> of_gate_up = memory.InputsOfGateUp(list);
  const LocalRows<Half::kDown> of_down = memory.InputsOfDown(list);
  for (;;) {
    list.Find(state.share());
    {
      auto gate_up = memory.GateUp(list, of_gate_up);
      gate_up.RunFound(false, false);
      gate_up.Close();
    }
    auto down = memory.Down(list, of_down);
    const bool asks = NoneIsLeft(c, &state.none_left());
    if (asks) down.Ask();
    typename DownTable::Words words = {};
    if constexpr (CallTables<FG, FD>::kOther) words = DownTable::Load(ThreadIndex());
    SyncBlock();
    if (ThreadIndex() == 0) PublishShare(c, state);
    SyncWarp();
    if (ThreadIndex() < kWarp && state.share() >= GridBlocks()) WaitForInputs(c, list);
    SyncBlock();
    if (state.share() < GridBlocks()) continue;
    memory.FillDownTable(words);
    return RunDownShares(c, list, asks, &down);
  }
}

template <typename FG, typename FD>
BERTH_KERNEL(kDotThreads, kDotBlocks)
CallKernel(const BERTH_GRID_CONSTANT CallArgs c) {
  BERTH_SHARED_MEMORY(shared);
  const CallMemory<FG, FD> memory(c, shared);
  const CallList list(c, shared);
  const CallState state = {list.state()};
  memory.MakeBarriers();
  memory.FillTable();
  WaitAndGoOn();
  // Asked for together.
  const uint32_t ticket = AskForShare(c.down);
  const CallList::Asked asked = list.Ask();
  if (ThreadIndex() == 0) state.Begin(ticket);
  list.Make(asked, memory.counts());
  if (state.share() < GridBlocks()) RunCallShares(c, memory, list);
  SumShares<true>(c.down);
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_CALL_KERNEL_H_
