// What planning and the core must know of a model, read off its catalog.
#ifndef BERTH_RUNTIME_ENGINE_SIZES_OF_H_
#define BERTH_RUNTIME_ENGINE_SIZES_OF_H_

#include "runtime/catalog/catalog.h"
#include "runtime/plan/model_sizes.h"

namespace berth {

// Shards on several drives are told apart by their files' device numbers.
ModelSizes SizesOf(const Catalog& catalog);

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_SIZES_OF_H_
