// Writes small traces for tests, right or wrong as asked.
#ifndef BERTH_TESTS_RUNTIME_TRACE_BUILDER_H_
#define BERTH_TESTS_RUNTIME_TRACE_BUILDER_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/safetensors/writer.h"

namespace berth::testing {

// Two layers, five experts, top-2, four rows in two requests, unless changed before Write.
struct TraceBuilder {
  template <typename T>
  TraceBuilder& Set(const std::string& name, io::SafetensorsType type, std::vector<uint64_t> shape,
                    const std::vector<T>& values) {
    Remove(name);
    tensors.push_back({name, type, std::move(shape)});
    std::string bytes(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    data[name] = bytes;
    return *this;
  }

  TraceBuilder& Remove(const std::string& name) {
    std::erase_if(tensors, [&](const auto& tensor) { return tensor.name == name; });
    data.erase(name);
    return *this;
  }

  TraceBuilder& Meta(const std::string& key, const std::string& value) {
    metadata[key] = value;
    return *this;
  }

  static TraceBuilder Small() {
    TraceBuilder builder;
    builder.metadata = {{"format", "moe-routing-trace/1"},
                        {"layers", "2"},
                        {"experts", "5"},
                        {"top_k", "2"},
                        {"none", "255"}};
    builder.Set<int32_t>("request_rows", io::SafetensorsType::kI32, {2}, {3, 1});
    builder.Set<uint8_t>("experts", io::SafetensorsType::kU8, {4, 2, 2},
                         {0, 1, 2, 3, 4, 0, 1, 255, 2, 3, 4, 0, 1, 2, 3, 4});
    return builder;
  }

  void Write(const std::string& path) const {
    auto writer = io::SafetensorsWriter::Create(path, tensors, metadata);
    ASSERT_TRUE(writer.ok()) << writer.status().ToString();
    for (const io::SafetensorsDeclaration& tensor : tensors) {
      const std::string& bytes = data.at(tensor.name);
      ASSERT_TRUE((*writer)->Append(std::as_bytes(std::span<const char>(bytes))).ok());
    }
    const Status committed = (*writer)->Commit();
    ASSERT_TRUE(committed.ok()) << committed.ToString();
  }

  std::map<std::string, std::string> metadata;
  std::vector<io::SafetensorsDeclaration> tensors;
  std::map<std::string, std::string> data;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_RUNTIME_TRACE_BUILDER_H_
