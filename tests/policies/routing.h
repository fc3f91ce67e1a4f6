// The traces of expert routing that tests read: which experts each row went to, layer by layer.
#ifndef BERTH_TESTS_POLICIES_ROUTING_H_
#define BERTH_TESTS_POLICIES_ROUTING_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace berth::policies {

struct Routing {
  size_t rows = 0, layers = 0, top_k = 0;
  std::vector<uint8_t> experts;       // [rows, layers, top_k]
  std::vector<int32_t> request_rows;  // [requests]
};

// The two tensors of a safetensors file: 8 bytes of header length, a JSON header, the data.
inline bool Load(const std::string& path, Routing* routing) {
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  if (!file.read(reinterpret_cast<char*>(&length), sizeof(length))) return false;
  std::string text(length, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(length))) return false;
  const nlohmann::json header = nlohmann::json::parse(text);
  const auto read = [&](const char* name, auto* values) {
    const uint64_t begin = header[name]["data_offsets"][0], end = header[name]["data_offsets"][1];
    values->resize((end - begin) / sizeof((*values)[0]));
    file.seekg(static_cast<std::streamoff>(sizeof(length) + length + begin));
    file.read(reinterpret_cast<char*>(values->data()), static_cast<std::streamsize>(end - begin));
  };
  read("experts", &routing->experts);
  read("request_rows", &routing->request_rows);
  routing->rows = header["experts"]["shape"][0];
  routing->layers = header["experts"]["shape"][1];
  routing->top_k = header["experts"]["shape"][2];
  return file.good();
}

}  // namespace berth::policies

#endif  // BERTH_TESTS_POLICIES_ROUTING_H_
