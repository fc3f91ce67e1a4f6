#include "tests/scheduler/any_policy.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "policies/policy.h"

namespace berth::scheduler {
namespace {

using policies::PolicyInfo;

struct Key {
  std::string name;
  double fallback = 0;
  bool percent = false;
  bool whole = true;               // an integer
  double low = 0, high = 0;        // high 0: the summary states no range
  std::vector<std::string> words;  // one of them instead of a number
};

// The "bypass (..., or always)" behind a key's '='.
std::vector<std::string> WordsOf(const std::string& text) {
  const size_t end = text.find(')');
  const size_t last = text.rfind(" or ", end);
  if (end == text.npos || last == text.npos) return {};
  return {text.substr(0, text.find(' ')), text.substr(last + 4, end - last - 4)};
}

// The "key=0.98 (per pass, 0.01 to 1)" of a summary.
std::vector<Key> KeysOf(std::string_view summary) {
  const std::string text(summary);
  std::vector<Key> keys;
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    Key key;
    size_t begin = at;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 ||
                         text[begin - 1] == '_' || text[begin - 1] == '-')) {
      --begin;
    }
    key.name = text.substr(begin, at - begin);
    char* end = nullptr;
    key.fallback = std::strtod(text.c_str() + at + 1, &end);
    if (key.name.empty()) continue;
    if (end == text.c_str() + at + 1) {
      key.words = WordsOf(text.substr(at + 1));
      if (!key.words.empty()) keys.push_back(key);
      continue;
    }
    const std::string number(text.c_str() + at + 1, static_cast<const char*>(end));
    key.whole = number.find('.') == number.npos;
    key.percent = *end == '%';
    const size_t next = std::min(text.find('=', at + 1), text.size());
    const size_t to = text.find(" to ", at);
    if (to < next) {
      size_t from = to;
      while (from > 0 && (std::isdigit(static_cast<unsigned char>(text[from - 1])) != 0 ||
                          text[from - 1] == '.')) {
        --from;
      }
      if (from < to) {
        key.low = std::strtod(text.c_str() + from, nullptr);
        key.high = std::strtod(text.c_str() + to + 4, nullptr);
        key.whole &= key.low == static_cast<double>(static_cast<int64_t>(key.low));
      }
    }
    keys.push_back(key);
  }
  return keys;
}

std::string Value(const Key& key, Random* random) {
  if (!key.words.empty()) return key.words[random->Below(static_cast<uint32_t>(key.words.size()))];
  if (key.percent) return std::to_string(random->Below(101)) + "%";
  const double low = key.high > 0 ? key.low : 1;
  const double high = key.high > 0 ? key.high : 2 * key.fallback + 1;
  if (!key.whole) {
    return std::to_string(low + (high - low) * static_cast<double>(random->Below(1001)) / 1000);
  }
  const auto least = static_cast<uint32_t>(low);
  return std::to_string(random->In(least, std::min(static_cast<uint32_t>(high), least + 20)));
}

struct Row {
  PolicyInfo info;
  std::vector<Key> keys;
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> made;
    for (const PolicyInfo& info : policies::Policies()) {
      made.push_back({info, KeysOf(info.summary)});
    }
    return made;
  }();
  return rows;
}

bool Accepted(const std::string& spec) {
  policies::PolicyOptions options;
  options.units = 16;
  options.slots = 8;
  options.top_k = 2;
  const std::vector<double> heat(options.units, 1.0);
  options.heat = heat;
  const std::vector<uint64_t> next_use(options.units, policies::kNeverUsed);
  options.next_use = next_use;
  return policies::MakePolicy(spec, options).ok();
}

}  // namespace

AnyPolicy DrawPolicy(Random* random) {
  const Row& row = Rows()[random->Below(static_cast<uint32_t>(Rows().size()))];
  AnyPolicy any{std::string(row.info.name), row.info.needs_heat};
  if (row.keys.empty() || random->OneIn(3)) return any;
  std::string spec = any.spec;
  char mark = ':';
  for (const Key& key : row.keys) {
    if (random->OneIn(3)) continue;
    spec += mark + key.name + "=" + Value(key, random);
    mark = ',';
  }
  // A summary that says less than the policy asks for costs its parameters, not the seed.
  if (Accepted(spec)) any.spec = spec;
  return any;
}

}  // namespace berth::scheduler
