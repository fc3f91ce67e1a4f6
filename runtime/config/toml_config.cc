#include "runtime/config/toml_config.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "io/file/read_text.h"
#include "runtime/base/format.h"

namespace berth {
namespace {

constexpr uint64_t kMaxConfigBytes = 1u << 20;

const char* TypeName(ConfigType type) {
  switch (type) {
    case ConfigType::kString:
      return "a string";
    case ConfigType::kInteger:
      return "a whole number from 0";
    case ConfigType::kNumber:
      return "a number";
    case ConfigType::kBytes:
      return "a size (4096 or \"1.5GB\")";
    case ConfigType::kBytesOrAuto:
      return "a size (4096 or \"1.5GB\") or \"auto\"";
    case ConfigType::kFlag:
      return "true or false";
  }
  return "a value";
}

// The shortest decimal that reads back as the same double.
std::string NumberText(double value) {
  char text[40];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

bool IsBytes(ConfigType type) {
  return type == ConfigType::kBytes || type == ConfigType::kBytesOrAuto;
}

// False where the node is not of the type.
bool ValueText(const toml::node& node, ConfigType type, std::string* text) {
  if (const auto* string = node.as_string()) {
    *text = string->get();
    if (type == ConfigType::kBytesOrAuto && *text == "auto") return true;
    return type == ConfigType::kString || (IsBytes(type) && ParseBytes(*text).ok());
  }
  if (const auto* integer = node.as_integer()) {
    *text = std::to_string(integer->get());
    if (type == ConfigType::kNumber) return true;
    return (type == ConfigType::kInteger || IsBytes(type)) && integer->get() >= 0;
  }
  if (const auto* number = node.as_floating_point()) {
    *text = NumberText(number->get());
    return type == ConfigType::kNumber && std::isfinite(number->get());
  }
  if (const auto* flag = node.as_boolean()) {
    *text = flag->get() ? "true" : "false";
    return type == ConfigType::kFlag;
  }
  return false;
}

class Converter {
 public:
  Converter(std::string_view name, std::span<const ConfigKey> keys) : name_(name), keys_(keys) {}

  Result<std::vector<ConfigEntry>> Convert(const toml::table& table) const {
    std::vector<std::pair<toml::source_position, ConfigEntry>> entries;
    for (const auto& [key, node] : table) {
      BERTH_ASSIGN_OR_RETURN(ConfigEntry entry, Entry(std::string(key.str()), key.source(), node));
      entries.emplace_back(key.source().begin, std::move(entry));
    }
    // The table is sorted by name; people expect messages and precedence in the file's order.
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
    });
    std::vector<ConfigEntry> result;
    for (auto& [position, entry] : entries) result.push_back(std::move(entry));
    return result;
  }

  Status Error(uint32_t line, const std::string& what) const {
    return InvalidArgumentError(name_ + ":" + std::to_string(line) + ": " + what);
  }

 private:
  Result<ConfigEntry> Entry(std::string key, const toml::source_region& where,
                            const toml::node& node) const {
    const uint32_t line = where.begin.line;
    const auto known =
        std::find_if(keys_.begin(), keys_.end(), [&](const ConfigKey& k) { return k.name == key; });
    if (known == keys_.end()) {
      std::vector<std::string_view> names;
      for (const ConfigKey& k : keys_) names.push_back(k.name);
      return Error(line, "unknown key '" + key + "'" + DidYouMean(key, names));
    }
    ConfigEntry entry{std::move(key), {}, line};
    std::string text;
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      if (!ValueText(node, known->type, &text)) return WrongType(*known, line);
      entry.values.push_back(std::move(text));
      return entry;
    }
    if (!known->repeatable || list->empty()) return WrongType(*known, line);
    for (const toml::node& element : *list) {
      if (!ValueText(element, known->type, &text)) return WrongType(*known, line);
      entry.values.push_back(text);
    }
    return entry;
  }

  Status WrongType(const ConfigKey& key, uint32_t line) const {
    return Error(line, "'" + std::string(key.name) + "' must be " + TypeName(key.type) +
                           (key.repeatable ? ", or a list of such" : ""));
  }

  const std::string name_;
  const std::span<const ConfigKey> keys_;
};

}  // namespace

Result<std::vector<ConfigEntry>> ParseTomlConfig(std::string_view text, std::string_view name,
                                                 std::span<const ConfigKey> keys) {
  const Converter converter(name, keys);
  if (text.size() > kMaxConfigBytes) {
    return InvalidArgumentError(std::string(name) + ": " + FormatBytes(text.size()) +
                                ", but a configuration has at most " +
                                FormatBytes(kMaxConfigBytes));
  }
  try {
    return converter.Convert(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    return converter.Error(error.source().begin.line, std::string(error.description()));
  } catch (const std::exception& error) {
    return InvalidArgumentError(std::string(name) + ": " + error.what());
  }
}

Result<std::vector<ConfigEntry>> ReadTomlConfig(const std::string& path,
                                                std::span<const ConfigKey> keys) {
  BERTH_ASSIGN_OR_RETURN(const std::string text, io::ReadText(path, kMaxConfigBytes));
  return ParseTomlConfig(text, path, keys);
}

}  // namespace berth
