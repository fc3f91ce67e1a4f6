// The "key=value,key=value" of a policy's spec, read strictly: every key once, every number whole
// and in its range, nothing left over.
#ifndef BERTH_POLICIES_PARAMS_H_
#define BERTH_POLICIES_PARAMS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "berth/status.h"

namespace berth::policies {

class Params {
 public:
  // No parameters yet. `policy` stands in messages; it must outlive the object.
  explicit Params(std::string_view policy) : policy_(policy) {}
  // Adds the parameters of `text`, which must outlive the object. An empty text is an error: it
  // stands behind a colon.
  Status Parse(std::string_view text);

  // The value of `key`, `fallback` where it is not given. A policy asks for each of its keys and
  // then calls Finish, which refuses the keys that nobody asked for.
  Result<double> Number(std::string_view key, double fallback, double low, double high);
  Result<uint64_t> Count(std::string_view key, uint64_t fallback, uint64_t low, uint64_t high);
  // A number of things, or a share of `whole` (rounded down) where the value ends in '%'.
  Result<uint64_t> CountOrPercent(std::string_view key, uint64_t whole, double fallback_percent,
                                  uint64_t high);
  // One of `words`, as its index; the first one where the key is not given.
  Result<size_t> Choice(std::string_view key, std::initializer_list<std::string_view> words);
  Status Finish() const;

 private:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };

  // Notes that the policy knows `key`; null where the spec does not give it.
  const Entry* Find(std::string_view key);
  Status Refuse(const Entry& entry, std::string_view expected) const;

  std::string_view policy_;
  std::vector<Entry> entries_;
  std::vector<std::string_view> known_;
};

}  // namespace berth::policies

#endif  // BERTH_POLICIES_PARAMS_H_
