// What the core must know of a model, read off its catalog.
#ifndef BERTH_RUNTIME_ENGINE_GEOMETRY_OF_H_
#define BERTH_RUNTIME_ENGINE_GEOMETRY_OF_H_

#include "runtime/catalog/catalog.h"
#include "scheduler/geometry.h"

namespace berth {

// Shards on several drives are told apart by their files' device numbers.
scheduler::Geometry GeometryOf(const Catalog& catalog);

}  // namespace berth

#endif  // BERTH_RUNTIME_ENGINE_GEOMETRY_OF_H_
