// One tensor of a trace, [rows, entries of a row], read through a window of rows.
#ifndef BERTH_RUNTIME_TRACE_COLUMN_H_
#define BERTH_RUNTIME_TRACE_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "berth/status.h"
#include "io/safetensors/safetensors.h"

namespace berth::trace {

// Rows of a window: about this many bytes, at least one row.
inline constexpr uint64_t kWindowBytes = 1u << 20;

class RowWindow {
 public:
  RowWindow() = default;
  // The file and the tensor must outlive the window. row_bytes > 0 and rows * row_bytes equals the
  // tensor's size.
  RowWindow(const io::SafetensorsFile* file, const io::SafetensorsTensor* tensor, uint64_t rows,
            uint64_t row_bytes);

  // The row's bytes as they stand in the file, valid until the next call.
  Result<std::span<const std::byte>> Row(uint64_t row);
  uint64_t bytes() const { return buffer_.size(); }
  const io::SafetensorsTensor& tensor() const { return *tensor_; }

 private:
  const io::SafetensorsFile* file_ = nullptr;
  const io::SafetensorsTensor* tensor_ = nullptr;
  uint64_t rows_ = 0;
  uint64_t row_bytes_ = 0;
  uint64_t first_row_ = 0;
  uint64_t held_rows_ = 0;
  std::vector<std::byte> buffer_;
};

// Little-endian integers or floats of a file, widened. The types are the ones that the trace
// format allows for ids (U8, U16, I16, I32) and for weights (F16, F32).
bool IsIdType(io::SafetensorsType type);
bool IsWeightType(io::SafetensorsType type);
void WidenIds(io::SafetensorsType type, std::span<const std::byte> bytes, std::span<int32_t> ids);
void WidenWeights(io::SafetensorsType type, std::span<const std::byte> bytes,
                  std::span<float> weights);

}  // namespace berth::trace

#endif  // BERTH_RUNTIME_TRACE_COLUMN_H_
