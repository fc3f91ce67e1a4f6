#include "runtime/curve/sizes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "runtime/base/format.h"
#include "runtime/base/math.h"

namespace berth::curve {
namespace {

constexpr double kLadder[] = {6.25, 12.5, 25, 37.5, 50, 62.5, 75, 87.5};
constexpr size_t kMostSizes = 1000;
constexpr std::string_view kPerLayerSuffix = "/layer";

template <typename T>
bool Parse(std::string_view text, T* value) {
  if (text.empty() || text.find_first_not_of("0123456789.") != text.npos) return false;
  const std::from_chars_result read =
      std::from_chars(text.data(), text.data() + text.size(), *value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Result<SizeRequest> ParseSize(std::string_view word) {
  SizeRequest size;
  size.text = word;
  using Kind = SizeRequest::Kind;
  std::string_view number = word;
  if (word.ends_with('%')) {
    number.remove_suffix(1);
    size.kind = Kind::kPercent;
    if (Parse(Trimmed(number), &size.percent) && size.percent > 0 && size.percent <= 100) {
      return size;
    }
  } else if (word.ends_with(kPerLayerSuffix)) {
    number.remove_suffix(kPerLayerSuffix.size());
    size.kind = Kind::kPerLayer;
    if (Parse(Trimmed(number), &size.count) && size.count > 0) return size;
  } else if (Parse(word, &size.count)) {
    if (size.count > 0) return size;
  } else if (const Result<uint64_t> bytes = ParseBytes(word); bytes.ok() && *bytes > 0) {
    // A fraction without a unit is neither slots nor bytes.
    size.kind = Kind::kBytes;
    size.count = *bytes;
    if (word.find_first_not_of("0123456789. ") != word.npos) return size;
  }
  return InvalidArgumentError("'" + std::string(word) +
                              "': expected a share above 0% up to 100%, a number of slots (333), "
                              "slots of each layer (13/layer) or bytes (4GB)");
}

Result<std::vector<uint32_t>> Place(const SizeRequest& size, const Pools& pools) {
  uint64_t slots = size.count;
  switch (size.kind) {
    case SizeRequest::Kind::kPercent:
      slots = static_cast<uint64_t>(
          std::llround(size.percent / 100 * static_cast<double>(pools.units)));
      break;
    case SizeRequest::Kind::kSlots:
      break;
    case SizeRequest::Kind::kPerLayer:
      if (!CheckedMul(size.count, pools.pool_of_layer.size(), &slots)) slots = UINT64_MAX;
      break;
    case SizeRequest::Kind::kBytes:
      if (!pools.knows_bytes()) {
        return InvalidArgumentError("'" + size.text +
                                    "': the trace does not say how many bytes a unit has: give "
                                    "--unit-bytes, or a size in % or slots");
      }
      return SplitBytes(pools, size.count);
  }
  if (slots > pools.units) {
    return InvalidArgumentError("'" + size.text + "': more than the " + FormatCount(pools.units) +
                                " units of the trace");
  }
  return SplitSlots(pools, slots);
}

uint64_t SlotsOfClass(const Pools& pools, const std::vector<uint32_t>& pool_slots,
                      uint32_t size_class) {
  uint64_t slots = 0;
  for (size_t p = 0; p < pools.pools.size(); ++p) {
    if (pools.pools[p].size_class == size_class) slots += pool_slots[p];
  }
  return slots;
}

Size Judge(std::string label, std::vector<uint32_t> pool_slots, const Pools& pools) {
  Size size;
  size.label = std::move(label);
  size.slots = std::accumulate(pool_slots.begin(), pool_slots.end(), uint64_t{0});
  for (size_t p = 0; p < pools.pools.size(); ++p) {
    const Pool& pool = pools.pools[p];
    size.below_cycle |= pool.layers.size() > 1 && pool_slots[p] < pools.Cycle(pool);
  }
  for (uint32_t c = 0; c < pools.classes.size(); ++c) {
    size.below_minimum |= SlotsOfClass(pools, pool_slots, c) < pools.MinimumSlots(pools.classes[c]);
  }
  size.pool_slots = std::move(pool_slots);
  return size;
}

std::string PercentText(double percent) {
  std::string text = std::to_string(percent);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "%";
}

std::vector<SizeRequest> Ladder() {
  std::vector<SizeRequest> ladder;
  for (double percent : kLadder) {
    ladder.push_back({PercentText(percent), SizeRequest::Kind::kPercent, percent, 0});
  }
  return ladder;
}

}  // namespace

Result<std::vector<SizeRequest>> ParseSizes(std::string_view list) {
  std::vector<SizeRequest> sizes;
  while (true) {
    const size_t comma = list.find(',');
    BERTH_ASSIGN_OR_RETURN(SizeRequest size, ParseSize(Trimmed(list.substr(0, comma))));
    sizes.push_back(std::move(size));
    if (sizes.size() > kMostSizes) {
      return InvalidArgumentError("more than " + FormatCount(kMostSizes) + " sizes");
    }
    if (comma == list.npos) return sizes;
    list.remove_prefix(comma + 1);
  }
}

Result<std::vector<Size>> PlaceSizes(std::span<const SizeRequest> requests, const Pools& pools) {
  const std::vector<SizeRequest> ladder = requests.empty() ? Ladder() : std::vector<SizeRequest>();
  std::vector<Size> sizes;
  for (const SizeRequest& request : requests.empty() ? std::span(ladder) : requests) {
    BERTH_ASSIGN_OR_RETURN(std::vector<uint32_t> pool_slots, Place(request, pools));
    Size size = Judge(request.text, std::move(pool_slots), pools);
    if (requests.empty() && size.below_minimum) continue;
    if (std::find(size.pool_slots.begin(), size.pool_slots.end(), 0u) != size.pool_slots.end()) {
      return InvalidArgumentError("'" + request.text + "': no slot for " +
                                  (pools.pools.size() == 1 ? "any unit" : "some of the layers") +
                                  ": the " + FormatCount(pools.units) + " units need at least " +
                                  FormatCount(pools.pools.size()));
    }
    sizes.push_back(std::move(size));
  }
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const Size& a, const Size& b) { return a.slots < b.slots; });
  const auto end = std::unique(sizes.begin(), sizes.end(), [](const Size& a, const Size& b) {
    return a.pool_slots == b.pool_slots;
  });
  sizes.erase(end, sizes.end());
  if (sizes.empty()) {  // a ladder of a model so small that each step of it is below the minimum
    sizes.push_back(Judge("100%", SplitSlots(pools, pools.units), pools));
  }
  return sizes;
}

}  // namespace berth::curve
