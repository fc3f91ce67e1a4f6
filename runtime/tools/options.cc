#include "runtime/tools/options.h"

#include <charconv>

#include "absl/strings/str_split.h"
#include "runtime/base/format.h"

namespace berth::tools {

CLI::Option* AddModel(CLI::App* app, std::string* model) {
  return app->add_option("MODEL", *model, "A GGUF file, any shard of one, or a pack")->required();
}

CLI::Option* AddConventions(CLI::App* app, std::string* conventions) {
  return app->add_option("--conventions", *conventions,
                         "How the experts compute, for an architecture that is not known: "
                         "silu-gate, gelu-gate,up-first, clamped-gate:alpha=1.702,limit=7, ...");
}

CLI::Option* AddJson(CLI::App* app, std::string* json) {
  return app->add_option("--json", *json, "Write the result as JSON to FILE; - is standard output")
      ->check([](const std::string& file) {
        return file.empty() ? "the name is empty: name a file, or - for standard output" : "";
      })
      ->type_name("FILE");
}

CLI::Option* AddBytes(CLI::App* app, const std::string& flag, uint64_t* bytes,
                      const std::string& description) {
  const auto parse = [flag, bytes](const std::string& text) {
    const Result<uint64_t> parsed = ParseBytes(text);
    if (!parsed.ok()) throw CLI::ValidationError(flag, std::string(parsed.status().message()));
    *bytes = *parsed;
  };
  return app->add_option_function<std::string>(flag, parse, description)->type_name("BYTES");
}

Result<std::vector<uint64_t>> ParseBytesList(const std::string& flag, const std::string& text) {
  std::vector<uint64_t> sizes;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const Result<uint64_t> parsed = ParseBytes({part.data(), part.size()});
    if (!parsed.ok()) return parsed.status().Annotate(flag);
    sizes.push_back(*parsed);
  }
  return sizes;
}

Result<uint64_t> ParseWhole(const std::string& flag, const std::string& text, uint64_t least,
                            uint64_t most) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value < least || value > most) {
    return InvalidArgumentError(flag + " " + (text.empty() ? "''" : text) +
                                ": expected a whole number from " + std::to_string(least) + " to " +
                                std::to_string(most));
  }
  return value;
}

Result<std::vector<uint32_t>> ParseWholeList(const std::string& flag, const std::string& text) {
  constexpr uint64_t kMost = 1'000'000;
  const auto wrong = [&](std::string_view part, const char* why) {
    return InvalidArgumentError(flag + " " + text + ": '" + std::string(part) + "' " + why +
                                ": expected a list like 0-3,7");
  };
  std::vector<uint32_t> numbers;
  for (size_t at = 0; at <= text.size();) {
    const std::string_view part = std::string_view(text).substr(at, text.find(',', at) - at);
    at += part.size() + 1;
    const size_t dash = part.find('-');
    const auto number = [&](std::string_view digits) {
      return ParseWhole(flag, std::string(digits), 0, std::numeric_limits<uint32_t>::max());
    };
    const Result<uint64_t> first = number(part.substr(0, dash));
    const Result<uint64_t> last = dash == part.npos ? first : number(part.substr(dash + 1));
    if (!first.ok() || !last.ok()) return wrong(part, "is no number and no range");
    if (*last < *first) return wrong(part, "ends before it begins");
    if (*last - *first >= kMost - numbers.size()) {
      return InvalidArgumentError(flag + " " + text + ": more than " + FormatCount(kMost) +
                                  " numbers");
    }
    for (uint64_t n = *first; n <= *last; ++n) numbers.push_back(static_cast<uint32_t>(n));
  }
  return numbers;
}

Status OneOf(const std::string& flag, const std::string& value,
             std::initializer_list<std::string_view> names) {
  std::string list;
  for (std::string_view name : names) {
    if (value == name) return Status();
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  return InvalidArgumentError(flag + " " + value + ": expected " + list +
                              DidYouMean(value, {names.begin(), names.size()}));
}

CLI::Option* AddRepeatable(CLI::App* app, const std::string& flag, std::vector<std::string>* values,
                           const std::string& description) {
  return app->add_option(flag, *values, description)->allow_extra_args(false);
}

}  // namespace berth::tools
