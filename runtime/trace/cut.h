// Cuts a piece out of a trace: some layers, some rows of some requests.
#ifndef BERTH_RUNTIME_TRACE_CUT_H_
#define BERTH_RUNTIME_TRACE_CUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"

namespace berth {

// Rows [first, first + rows) of a request, counted within it. The ranges become the requests of
// the new trace, in this order, with the labels and streams of theirs.
struct TracePart {
  uint32_t request = 0;
  uint32_t first = 0;
  uint32_t rows = 0;
};

struct TraceCut {
  uint32_t first_layer = 0;  // layers [first_layer, end_layer), trace order
  uint32_t end_layer = 0;
  std::vector<TracePart> parts;
  bool predictions = false;    // keep predicted_n_ahead, where there are any
  bool router_weights = true;  // keep router_weights, where there are any
  bool replace = false;        // an existing destination
};

// Writes the piece to `destination`, which appears whole or not at all. Layers keep their block
// numbers (layer_ids is always written) and their units' bytes. A forward pass that is cut becomes
// a shorter pass. Ids are written in the narrowest type that has room for "none". Memory does not
// grow with the trace. OutOfRange for layers, requests or rows that the source does not have;
// InvalidArgument for a destination that is the source.
Status CutTrace(const std::string& source, const TraceCut& cut, const std::string& destination);

}  // namespace berth

#endif  // BERTH_RUNTIME_TRACE_CUT_H_
