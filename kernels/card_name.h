// Names of cards: "<backend>:<number>".
#ifndef BERTH_KERNELS_CARD_NAME_H_
#define BERTH_KERNELS_CARD_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/status.h"

namespace berth::kernels {

// Every backend that there is, part of this build or not.
inline constexpr std::string_view kBackendNames[] = {"host", "cuda", "hip"};

struct CardName {
  std::string_view backend;  // of kBackendNames
  uint32_t number = 0;
  std::string ToString() const;  // "host:0"
};

// "host" is "host:0". InvalidArgument for what has no number or a second spelling of one ("00"),
// NotFound, with the nearest known name, for a backend that there is not.
Result<CardName> ParseCardName(std::string_view name);

}  // namespace berth::kernels

#endif  // BERTH_KERNELS_CARD_NAME_H_
