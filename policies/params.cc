#include "policies/params.h"

#include <charconv>
#include <cstdio>
#include <string>

#include "runtime/base/format.h"

namespace berth::policies {
namespace {

// The whole of `text` as a number; false for anything else. No sign, space, "inf" or hexadecimal.
template <typename T>
bool ParseWhole(std::string_view text, T* value) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

std::string Plain(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

Status Params::Parse(std::string_view text) {
  while (true) {
    const std::string_view item = text.substr(0, text.find(','));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) {
      return InvalidArgumentError("policy " + Quoted(policy_) + ": " + Quoted(item) +
                                  " is not key=value");
    }
    const Entry entry{item.substr(0, equals), item.substr(equals + 1)};
    for (const Entry& other : entries_) {
      if (other.key != entry.key) continue;
      return InvalidArgumentError("policy " + Quoted(policy_) + ": " + std::string(entry.key) +
                                  " is given twice");
    }
    entries_.push_back(entry);
    if (item.size() == text.size()) return Status();
    text.remove_prefix(item.size() + 1);
  }
}

const Params::Entry* Params::Find(std::string_view key) {
  known_.push_back(key);
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

Status Params::Refuse(const Entry& entry, std::string_view expected) const {
  return InvalidArgumentError("policy " + Quoted(policy_) + ": " + std::string(entry.key) + "=" +
                              std::string(entry.value) + " is not " + std::string(expected));
}

Result<double> Params::Number(std::string_view key, double fallback, double low, double high) {
  const Entry* const entry = Find(key);
  if (entry == nullptr) return fallback;
  double value = 0;
  if (ParseWhole(entry->value, &value) && value >= low && value <= high) return value;
  return Refuse(*entry, "a number from " + Plain(low) + " to " + Plain(high));
}

Result<uint64_t> Params::Count(std::string_view key, uint64_t fallback, uint64_t low,
                               uint64_t high) {
  const Entry* const entry = Find(key);
  if (entry == nullptr) return fallback;
  uint64_t value = 0;
  if (ParseWhole(entry->value, &value) && value >= low && value <= high) return value;
  return Refuse(*entry,
                "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
}

Result<uint64_t> Params::CountOrPercent(std::string_view key, uint64_t whole,
                                        double fallback_percent, uint64_t high) {
  const auto share = [whole](double percent) {
    return static_cast<uint64_t>(static_cast<double>(whole) * percent / 100);
  };
  const Entry* const entry = Find(key);
  if (entry == nullptr) return share(fallback_percent);
  std::string_view text = entry->value;
  if (text.back() == '%') {
    text.remove_suffix(1);
    double percent = 0;
    if (ParseWhole(text, &percent) && percent <= 100) return share(percent);
  } else {
    uint64_t count = 0;
    if (ParseWhole(text, &count) && count <= high) return count;
  }
  return Refuse(*entry,
                "a whole number from 0 to " + std::to_string(high) + " or a share from 0% to 100%");
}

Result<size_t> Params::Choice(std::string_view key, std::initializer_list<std::string_view> words) {
  const Entry* const entry = Find(key);
  if (entry == nullptr) return size_t{0};
  std::string list;
  for (size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words.begin()[at];
    if (entry->value == word) return at;
    list += (list.empty() ? "" : " or ") + std::string(word);
  }
  return Refuse(*entry, list);
}

Status Params::Finish() const {
  for (const Entry& entry : entries_) {
    bool known = false;
    std::string list;
    for (std::string_view key : known_) {
      known |= key == entry.key;
      list += (list.empty() ? "" : ", ") + std::string(key);
    }
    if (known) continue;
    return InvalidArgumentError("policy " + Quoted(policy_) + " has no parameter " +
                                Quoted(entry.key) + DidYouMean(entry.key, known_) +
                                (list.empty() ? "; it takes none" : "; it takes " + list));
  }
  return Status();
}

}  // namespace berth::policies
