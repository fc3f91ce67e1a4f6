// The quantized block formats of GGUF: sizes, and decoding in plain code.
// Layouts are facts of the format (github.com/ggml-org/ggml: ggml-common.h, ggml-quants.c).
#ifndef BERTH_KERNELS_FORMATS_FORMAT_H_
#define BERTH_KERNELS_FORMATS_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "berth/status.h"
#include "berth/types.h"
#include "kernels/formats/weight_group.h"

namespace berth::kernels {

struct Format {
  TensorType type;
  std::string_view name;    // as in GGUF tools, lower case: "iq3_s", "q4_K", "mxfp4"
  uint32_t block_elements;  // weights per block
  uint32_t block_bytes;
  // Decodes `blocks` whole blocks. Reads exactly blocks * block_bytes bytes (no alignment is
  // assumed) and writes blocks * block_elements floats.
  void (*decode)(const std::byte* from, size_t blocks, float* to);
  // Makes `blocks` valid blocks whose decoded values are finite and of a size fit for an FFN
  // (roughly zero mean, |value| below about 0.5), every byte a function of `seed` and the block's
  // index from `first_block` on, so that ranges can be made in any order.
  void (*generate)(uint64_t seed, uint64_t first_block, size_t blocks, std::byte* to);
  // Takes `blocks` whole blocks apart, at most as many as make a group. Writes what `kind` says of
  // the weights that these blocks have. Null: the weights are floats themselves.
  void (*unpack)(const std::byte* from, size_t blocks, WeightGroup* to) = nullptr;
  GroupKind kind;
};

// The formats an expert tensor may have (not F32), in the order of their GGUF ids.
std::span<const Format> Formats();
// Null for a type that is not among them.
const Format* FindFormat(TensorType type);
// By GGUF name, any case ("IQ3_S"); an unknown name is an InvalidArgument with the nearest one.
Result<const Format*> FindFormat(std::string_view name);
// Bytes of a row of `cols` weights; InvalidArgument if cols is no multiple of the block.
Result<uint64_t> RowBytes(const Format& format, uint64_t cols);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_FORMATS_FORMAT_H_
