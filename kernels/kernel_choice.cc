#include "kernels/kernel_choice.h"

#include <vector>

#include "runtime/base/format.h"

namespace berth::kernels {
namespace {

constexpr std::string_view kNames[] = {"auto", "plain", "dots", "matrices", "wide"};
constexpr uint32_t kPairStep = 16;     // rows of a matrix instruction
constexpr uint32_t kMostPairs = 1024;  // more than any card takes at a time

// 0: no such number.
uint32_t ParsePairs(std::string_view digits) {
  uint32_t pairs = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || pairs > kMostPairs) return 0;
    pairs = 10 * pairs + static_cast<uint32_t>(c - '0');
  }
  return pairs % kPairStep == 0 && pairs <= kMostPairs ? pairs : 0;
}

}  // namespace

std::string KernelChoice::ToString() const {
  std::string text(kNames[static_cast<size_t>(kind)]);
  if (kind == KernelKind::kWide) text += ":" + std::to_string(pairs);
  return text;
}

Result<KernelChoice> ParseKernelChoice(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (size_t kind = 0; kind < std::size(kNames); ++kind) {
    if (name != kNames[kind]) continue;
    KernelChoice choice{static_cast<KernelKind>(kind)};
    const bool wide = choice.kind == KernelKind::kWide;
    if (wide != (colon != text.npos)) break;
    if (!wide) return choice;
    choice.pairs = ParsePairs(text.substr(colon + 1));
    if (choice.pairs == 0) break;
    return choice;
  }
  const std::vector<std::string_view> names(std::begin(kNames), std::end(kNames));
  return InvalidArgumentError("no kernel '" + std::string(text) +
                              "': auto, plain, dots, matrices or wide:N with a multiple of 16" +
                              DidYouMean(std::string(name), names));
}

}  // namespace berth::kernels
