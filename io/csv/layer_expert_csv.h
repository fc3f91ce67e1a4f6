// The plainest trace there is: a CSV of "layer,expert" lines, one access a line, in the order in
// which the model made them. Lines that start with '#' are comments; the first other line is the
// header "layer,expert".
#ifndef BERTH_IO_CSV_LAYER_EXPERT_CSV_H_
#define BERTH_IO_CSV_LAYER_EXPERT_CSV_H_

#include <cstdint>
#include <memory>
#include <string>

#include "berth/status.h"
#include "io/csv/line_reader.h"

namespace berth::io {

struct LayerExpert {
  uint32_t layer = 0;
  uint32_t expert = 0;
};

// Streams: memory does not grow with the file. One reader, one thread.
class LayerExpertCsv {
 public:
  static Result<std::unique_ptr<LayerExpertCsv>> Open(std::unique_ptr<ByteSource> source);
  // False at the end. Errors name file and line.
  Result<bool> Next(LayerExpert* access);
  uint64_t line() const { return lines_.line(); }

 private:
  explicit LayerExpertCsv(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}
  LineReader lines_;
};

}  // namespace berth::io

#endif  // BERTH_IO_CSV_LAYER_EXPERT_CSV_H_
