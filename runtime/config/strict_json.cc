#include "runtime/config/strict_json.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "runtime/base/format.h"

namespace berth {
namespace {

// No profile nests deeper than its lists of objects.
constexpr int kMaxDepth = 16;

}  // namespace

Result<nlohmann::json> ParseStrictJson(std::string_view text) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> names;  // of the objects that are open
  std::string twice;
  bool deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    deep = deep || depth > kMaxDepth;
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end && !names.empty()) names.pop_back();
    if (event == Json::parse_event_t::key && !names.empty() &&
        !names.back().insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return !deep;
  };
  try {
    Json value = Json::parse(text.begin(), text.end(), watch);
    if (deep) return InvalidArgumentError("nests too deep");
    if (!twice.empty()) return InvalidArgumentError("'" + twice + "' stands twice");
    return value;
  } catch (const Json::parse_error& error) {
    return InvalidArgumentError("not JSON at byte " + std::to_string(error.byte));
  } catch (const std::exception& error) {
    return InvalidArgumentError(std::string("not JSON: ") + error.what());
  }
}

StrictObject::StrictObject(const nlohmann::json& value, std::string where)
    : value_(value), where_(std::move(where)) {
  if (!value_.is_object()) {
    status_ =
        InvalidArgumentError((where_.empty() ? "the whole" : where_) + " must be an object {...}");
  }
}

const nlohmann::json* StrictObject::Find(std::string_view name) {
  known_.emplace_back(name);
  if (!value_.is_object()) return nullptr;
  const auto found = value_.find(std::string(name));
  return found == value_.end() ? nullptr : &*found;
}

void StrictObject::Wrong(std::string_view name, std::string_view expected) {
  if (!status_.ok()) return;
  status_ = InvalidArgumentError((where_.empty() ? "'" : where_ + ": '") + std::string(name) +
                                 "' must be " + std::string(expected));
}

void StrictObject::String(std::string_view name, std::string* out) {
  const nlohmann::json* field = Find(name);
  if (field == nullptr) return;
  if (!field->is_string()) return Wrong(name, "a string");
  *out = field->get<std::string>();
}

void StrictObject::Positive(std::string_view name, double* out) {
  const nlohmann::json* field = Find(name);
  if (field == nullptr) return;
  const double value = field->is_number() ? field->get<double>() : 0;
  if (!std::isfinite(value) || value <= 0) return Wrong(name, "a number above 0");
  *out = value;
}

void StrictObject::PositiveWhole(std::string_view name, uint64_t* out) {
  const nlohmann::json* field = Find(name);
  if (field == nullptr) return;
  const uint64_t value = field->is_number_unsigned() ? field->get<uint64_t>() : 0;
  if (value == 0) return Wrong(name, "a whole number above 0");
  *out = value;
}

void StrictObject::NotNegative(std::string_view name, std::optional<double>* out) {
  const nlohmann::json* field = Find(name);
  if (field == nullptr) return;
  const double value = field->is_number() ? field->get<double>() : -1;
  if (!std::isfinite(value) || value < 0) return Wrong(name, "a number of at least 0");
  *out = value;
}

const nlohmann::json* StrictObject::Object(std::string_view name) {
  const nlohmann::json* field = Find(name);
  if (field == nullptr || field->is_object()) return field;
  Wrong(name, "an object {...}");
  return nullptr;
}

const nlohmann::json* StrictObject::List(std::string_view name) {
  const nlohmann::json* field = Find(name);
  if (field == nullptr || field->is_array()) return field;
  Wrong(name, "a list [...]");
  return nullptr;
}

void StrictObject::Require(std::string_view name) {
  if (value_.is_object() && !value_.contains(std::string(name)) && status_.ok()) {
    status_ = InvalidArgumentError((where_.empty() ? "'" : where_ + ": '") + std::string(name) +
                                   "' is missing");
  }
}

Status StrictObject::Finish() {
  if (!status_.ok()) return status_;
  for (const auto& [name, value] : value_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::vector<std::string_view> names(known_.begin(), known_.end());
    return InvalidArgumentError((where_.empty() ? "" : where_ + ": ") + "unknown field '" + name +
                                "'" + DidYouMean(name, names));
  }
  return Status();
}

}  // namespace berth
