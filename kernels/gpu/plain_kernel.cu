#include "kernels/gpu/epilogue.h"
#include "kernels/gpu/formats/card_formats.h"
#include "kernels/gpu/plain_kernel.h"
#include "kernels/gpu/plain_products.h"
#include "kernels/gpu/shares.h"

namespace berth::kernels::gpu {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarps = kThreads / kWarp;

// Calls visit.Format<F>() with the decoder of a type, or visit.Floats().
template <typename Visitor>
BERTH_CARD void VisitType(TensorType type, Visitor& visit) {
  switch (type) {
#define BERTH_PLAIN_TYPE(name, Decoder) \
  case TensorType::name:                \
    visit.template Block<Decoder>();    \
    return;
    BERTH_FOR_EACH_CARD_FORMAT(BERTH_PLAIN_TYPE)
#undef BERTH_PLAIN_TYPE
    default:
      visit.Floats();
  }
}

struct CountWords {
  uint32_t words = 0;
  template <typename F>
  BERTH_CARD void Block() {
    words = F::kTableWords;
  }
  BERTH_CARD void Floats() {}
};
BERTH_CARD uint32_t TableWordsOf(TensorType type) {
  CountWords visit;
  VisitType(type, visit);
  return visit.words;
}

struct FillTable {
  uint32_t* to;
  template <typename F>
  BERTH_CARD_ONLY void Block() {
    if constexpr (F::kTableWords > 0) {
      for (uint32_t i = ThreadIndex(); i < F::kTableWords; i += BlockThreads()) {
        to[i] = F::TableWord(i);
      }
    }
  }
  BERTH_CARD_ONLY void Floats() {}
};

struct AddUp {
  const PlainCall& call;
  TensorType type;
  float (&sums)[kPlainPairs];
  template <typename F>
  BERTH_CARD_ONLY void Block() {
    PlainSums<F>(call, sums);
  }
  BERTH_CARD_ONLY void Floats() {
    if (type == TensorType::kF16) {
      PlainFloatSums<FloatOfF16>(call, sums);
    } else {
      PlainFloatSums<Bfloat16ToFloat>(call, sums);
    }
  }
};

// The pairs [pair, pair + count) of the unit with four weight rows from `row` on.
BERTH_CARD_ONLY void PlainChunk(const ProductArgs& a, const CardUnit& unit, uint32_t row,
                                uint32_t pair, uint32_t count, const uint32_t* table) {
  PlainCall call;
  call.cols = a.cols;
  call.bytes = &a.bytes;
  call.x = a.x;
  for (uint32_t n = 0; n < kPlainPairs; ++n) {
    const uint32_t place = unit.first + pair + (n < count ? n : 0);
    call.inputs[n] = a.down ? place : a.list.pairs[place] / a.top_k;
  }
  const uint32_t self = row + Lane() / 8;
  // Beyond the last row that row again; its results are left.
  const uint32_t weight_row = self < a.rows ? self : a.rows - 1;
  float products[2][kPlainPairs] = {};
  for (uint32_t m = 0; m < a.matrices; ++m) {
    const uint8_t* const base = a.down ? unit.down : m + 1 == a.matrices ? unit.up : unit.gate;
    // Chosen, not indexed: see WithSiblings.
    const TensorType type = m == 0 ? a.types[0] : a.types[1];
    const auto row_bytes = static_cast<uint32_t>(m == 0 ? a.row_bytes[0] : a.row_bytes[1]);
    call.row = InCardMemory(base + uint64_t{weight_row} * row_bytes);
    call.table.at = table;
    call.table.copies = 1;
    table += TableWordsOf(type);
    float sums[kPlainPairs] = {};
    AddUp visit{call, type, sums};
    VisitType(type, visit);
    BERTH_UNROLL
    for (uint32_t i = 0; i < kPlainPairs; ++i) {
      const float product = SumOfEight(sums[i]);
      products[0][i] = m == 0 ? product : products[0][i];
      products[1][i] = product;
    }
  }
  // Lane n of a weight row goes on with pair n.
  const uint32_t n = Lane() % 8;
  float gate = 0, up = 0;
  BERTH_UNROLL
  for (uint32_t i = 0; i < kPlainPairs; ++i) {
    if (n != i) continue;
    gate = products[0][i];
    up = a.matrices == 2 ? products[1][i] : products[0][i];
  }
  if (n >= count || self >= a.rows) return;
  const uint32_t place = unit.first + pair + n;
  if (a.down) {
    StorePartial(a, unit.expert, a.list.pairs[place], self, up);
  } else {
    StoreActivation(a, a.list.pairs, unit.expert, place, self, gate, up, DownIsWide(a, unit));
  }
}

BERTH_CARD_ONLY void PlainTile(const ProductArgs& a, uint32_t unit_at, const CardUnit& unit,
                               uint32_t row, const uint32_t* table) {
  const bool there = unit.up != nullptr;
  for (uint32_t pair = 0; pair < unit.count; pair += kPlainPairs) {
    const uint32_t left = unit.count - pair;
    const uint32_t count = left < kPlainPairs ? left : kPlainPairs;
    if (there) PlainChunk(a, unit, row, pair, count, table);
  }
  if (there && !a.down) OutputsStored(a, unit_at, unit, row, kPlainRows);
}

BERTH_KERNEL(kThreads, 1) PlainKernel(const BERTH_GRID_CONSTANT ProductArgs a) {
  BERTH_SHARED_MEMORY(shared);
  auto* const table = reinterpret_cast<uint32_t*>(shared);
  uint32_t* to = table;
  for (uint32_t m = 0; m < a.matrices; ++m) {
    FillTable fill{to};
    const TensorType type = m == 0 ? a.types[0] : a.types[1];
    VisitType(type, fill);
    to += TableWordsOf(type);
  }
  SyncBlock();
  WaitForLastLaunch();
  NextLaunchMayStart();
  const uint32_t tiles = (a.rows + kPlainRows - 1) / kPlainRows;
  const uint32_t count = *a.list.unit_count * tiles;
  for (uint32_t share = TakeShare(a, to); share < GridBlocks(); share = EndShare(a, to)) {
    for (uint32_t tile = share + GridBlocks() * (ThreadIndex() / kWarp); tile < count;
         tile += GridBlocks() * kWarps) {
      const CardUnit unit = a.list.units[tile / tiles];
      PlainTile(a, tile / tiles, unit, tile % tiles * kPlainRows, table);
    }
  }
  SumShares(a);
}

}  // namespace

gpuError_t PreparePlainKernel() {
  uint32_t words = 0;
#define BERTH_PLAIN_TYPE(name, Decoder) \
  if (Decoder::kTableWords > words) words = Decoder::kTableWords;
  BERTH_FOR_EACH_CARD_FORMAT(BERTH_PLAIN_TYPE)
#undef BERTH_PLAIN_TYPE
  return gpuPrepareKernel(PlainKernel, (2 * words + kShareWords) * sizeof(uint32_t));
}

gpuError_t LaunchPlain(const ProductArgs& args, uint32_t processors, gpuStream_t stream) {
  uint32_t words = kShareWords;
  for (uint32_t m = 0; m < args.matrices; ++m) words += TableWordsOf(args.types[m]);
  return gpuLaunch(PlainKernel, processors, kThreads, words * sizeof(uint32_t), stream, true, args);
}

}  // namespace berth::kernels::gpu
