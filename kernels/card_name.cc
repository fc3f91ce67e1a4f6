#include "kernels/card_name.h"

#include <charconv>

#include "runtime/base/format.h"

namespace berth::kernels {

std::string CardName::ToString() const {
  return std::string(backend) + ":" + std::to_string(number);
}

Result<CardName> ParseCardName(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view backend = name.substr(0, colon);
  CardName card;
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), card.number);
    // Two cards of one name are found out by name.
    const bool padded = digits.size() > 1 && digits.front() == '0';
    if (error != std::errc() || end != digits.data() + digits.size() || padded) {
      return InvalidArgumentError("card '" + std::string(name) +
                                  "': expected <backend>:<number>, such as host:0");
    }
  }
  std::string list;
  for (const std::string_view known : kBackendNames) {
    if (known == backend) card.backend = known;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  if (!card.backend.empty()) return card;
  return NotFoundError("card '" + std::string(name) + "': no backend is called '" +
                       std::string(backend) + "'" + DidYouMean(backend, kBackendNames) +
                       "; there are " + list);
}

}  // namespace berth::kernels
