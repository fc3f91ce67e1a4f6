// The largest grouped call of a stream, as the kernels' launches know it.
#ifndef BERTH_KERNELS_GPU_STREAM_SIZES_H_
#define BERTH_KERNELS_GPU_STREAM_SIZES_H_

#include "kernels/device.h"
#include "kernels/gpu/expert_launch.h"

namespace berth::kernels::gpu {

inline ExpertSizes SizesOf(const StreamOptions& options) {
  ExpertSizes sizes;
  sizes.max_hidden = options.max_hidden;
  sizes.max_ffn = options.max_ffn;
  sizes.max_pairs = options.max_pairs;
  sizes.max_rows = options.max_rows > 0 ? options.max_rows : options.max_pairs;
  sizes.max_units = options.max_units > 0 ? options.max_units : options.max_pairs;
  return sizes;
}

}  // namespace berth::kernels::gpu

#endif  // BERTH_KERNELS_GPU_STREAM_SIZES_H_
