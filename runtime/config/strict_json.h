// JSON objects read field by field, where a field that nobody asked for is an error. Internal to
// the readers of profiles (the only user of nlohmann::json in this folder).
#ifndef BERTH_RUNTIME_CONFIG_STRICT_JSON_H_
#define BERTH_RUNTIME_CONFIG_STRICT_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"

namespace berth {

// Parses a document whose objects have no field twice.
Result<nlohmann::json> ParseStrictJson(std::string_view text);

// Reads one object. The first error stays; Finish gives it, or names a field that was not asked
// for. `where` is the object's place for messages: "storage", "links[0]", or "" for the whole.
class StrictObject {
 public:
  StrictObject(const nlohmann::json& value, std::string where);

  // Absent fields leave *out as it is.
  void String(std::string_view name, std::string* out);
  void Positive(std::string_view name, double* out);                    // finite, > 0
  void PositiveWhole(std::string_view name, uint64_t* out);             // > 0
  void NotNegative(std::string_view name, std::optional<double>* out);  // finite, >= 0
  // Null where absent or where the type is wrong.
  const nlohmann::json* Object(std::string_view name);
  const nlohmann::json* List(std::string_view name);
  void Require(std::string_view name);

  Status Finish();

 private:
  const nlohmann::json* Find(std::string_view name);
  void Wrong(std::string_view name, std::string_view expected);

  const nlohmann::json& value_;
  const std::string where_;
  std::vector<std::string> known_;
  Status status_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_CONFIG_STRICT_JSON_H_
