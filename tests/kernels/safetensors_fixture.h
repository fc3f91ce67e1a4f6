// Reads a safetensors fixture for tests: the whole file in memory, tensors by name. The library's
// own reader (io) is not used, so that a fault in it cannot hide one here.
#ifndef BERTH_TESTS_KERNELS_SAFETENSORS_FIXTURE_H_
#define BERTH_TESTS_KERNELS_SAFETENSORS_FIXTURE_H_

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace berth::testing {

class SafetensorsFixture {
 public:
  explicit SafetensorsFixture(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    if (bytes_.size() < 8) throw std::runtime_error("cannot read " + path);
    uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), sizeof(header));
    data_ = 8 + header;
    index_ = nlohmann::json::parse(bytes_.data() + 8, bytes_.data() + data_);
  }

  bool Has(const std::string& name) const { return index_.contains(name); }

  template <typename T>
  std::vector<T> Get(const std::string& name) const {
    const auto& offsets = index_.at(name).at("data_offsets");
    const size_t begin = offsets.at(0);
    const size_t end = offsets.at(1);
    std::vector<T> values((end - begin) / sizeof(T));
    std::memcpy(values.data(), bytes_.data() + data_ + begin, end - begin);
    return values;
  }

 private:
  std::vector<char> bytes_;
  size_t data_ = 0;
  nlohmann::json index_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_KERNELS_SAFETENSORS_FIXTURE_H_
