// Reads a well-formed GGUF fixture for tests: tensors by name, the whole file in memory. The
// library's own reader (io) is not used, so that a fault in it cannot hide one here.
#ifndef BERTH_TESTS_KERNELS_GGUF_FIXTURE_H_
#define BERTH_TESTS_KERNELS_GGUF_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/types.h"

namespace berth::testing {

struct GgufTensor {
  TensorType type = TensorType::kF32;
  std::vector<uint64_t> shape;  // innermost first
  const std::byte* data = nullptr;
};

class GgufFixture {
 public:
  explicit GgufFixture(const std::string& path);

  const std::map<std::string, GgufTensor>& tensors() const { return tensors_; }

 private:
  template <typename T>
  T Read();
  std::string ReadString();
  // Skips a value and returns it where it is an integer (general.alignment is one), else 0.
  uint64_t SkipValue(uint32_t type);

  std::vector<std::byte> bytes_;
  size_t at_ = 0;
  std::map<std::string, GgufTensor> tensors_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_KERNELS_GGUF_FIXTURE_H_
