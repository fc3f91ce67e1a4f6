// Route CSV: routing recorded on a device, with each layer's expert bytes and what was read.
//
// Source of the format: the traces that github.com/Helldez/BigMoeOnEdge publishes ("route_trace
// v1"):
//   # route_trace v1
//   # model=<path> arch=<name> n_layer=<L> n_expert=<E> n_expert_used=<K>
//   # layer=<l> expert_bytes=<bytes of one expert> dense_bytes=<bytes>       one a layer
//   turn,phase,step,layer,slot,expert,weight,residency,expert_bytes
//   0,0,0,0,0,79,0.425021,0,4336640
// phase 0 is the prompt and 1 decode; slot is the place in the top-k; residency is the device's
// own word on whether the expert was there; the last column is what it had to read for it.
#ifndef BERTH_IO_CSV_ROUTE_CSV_H_
#define BERTH_IO_CSV_ROUTE_CSV_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/status.h"
#include "io/csv/line_reader.h"

namespace berth::io {

struct RouteLayer {
  bool stated = false;  // false: the header has no line for this layer (a dense one)
  uint64_t expert_bytes = 0;
  uint64_t dense_bytes = 0;
};

struct RouteHeader {
  std::string model;
  std::string architecture;
  uint32_t experts = 0;
  uint32_t top_k = 0;
  std::vector<RouteLayer> layers;  // n_layer of them
};

struct RouteRecord {
  uint32_t turn = 0;
  uint32_t phase = 0;
  uint32_t step = 0;
  uint32_t layer = 0;
  uint32_t slot = 0;
  uint32_t expert = 0;
  float weight = 0;
  uint32_t residency = 0;
  uint64_t read_bytes = 0;
};

// Streams: memory does not grow with the file. One reader, one thread.
class RouteCsv {
 public:
  static Result<std::unique_ptr<RouteCsv>> Open(std::unique_ptr<ByteSource> source);
  const RouteHeader& header() const { return header_; }
  // False at the end. Errors name file and line: a count of columns or a number that is wrong
  // (InvalidArgument), a layer, slot or expert beyond what the header says (OutOfRange).
  Result<bool> Next(RouteRecord* record);
  uint64_t line() const { return lines_.line(); }

 private:
  explicit RouteCsv(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}
  Status ReadHeader();
  Status ReadComment(std::string_view text);
  Status ReadModel(std::string_view text);
  Status ReadLayer(std::string_view text);

  LineReader lines_;
  RouteHeader header_;
};

}  // namespace berth::io

#endif  // BERTH_IO_CSV_ROUTE_CSV_H_
