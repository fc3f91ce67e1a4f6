// F16 and BF16: a block is one weight.
#include <algorithm>

#include "kernels/formats/block.h"
#include "kernels/formats/format_list.h"

namespace berth::kernels {
namespace {

template <float (*kConvert)(uint16_t)>
void Decode(const std::byte* from, size_t count, float* to) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);
  for (size_t i = 0; i < count; ++i) to[i] = kConvert(LoadU16(bytes + 2 * i));
}

// Four weights from one word of noise: in each 16-bit lane kKeep keeps sign, mantissa and the two
// low exponent bits, and kAdd sets the exponent so that the magnitude is in [2^-7, 2^-3).
template <uint64_t kKeep, uint64_t kAdd>
void Generate(uint64_t seed, uint64_t first, size_t count, std::byte* to) {
  const uint64_t key = Mix64(seed);
  while (count > 0) {
    const uint64_t word = (NoiseWord(key, first / 4) & kKeep) + kAdd;
    const size_t lane = first % 4;
    const size_t take = std::min<size_t>(4 - lane, count);
    std::memcpy(to, reinterpret_cast<const std::byte*>(&word) + 2 * lane, 2 * take);
    to += 2 * take;
    first += take;
    count -= take;
  }
}

constexpr uint64_t EveryLane(uint16_t lane) { return lane * 0x0001000100010001u; }

}  // namespace

const Format kFormatF16 = {TensorType::kF16,
                           "f16",
                           1,
                           2,
                           &Decode<F16ToF32>,
                           &Generate<EveryLane(0x8fff), EveryLane(8 << 10)>};
const Format kFormatBf16 = {TensorType::kBF16,
                            "bf16",
                            1,
                            2,
                            &Decode<Bf16ToF32>,
                            &Generate<EveryLane(0x81ff), EveryLane(120 << 7)>};

}  // namespace berth::kernels
