// The backends of this build, by name.
#include "kernels/device.h"

#include <charconv>
#include <vector>

#include "kernels/host/host_device.h"
#include "runtime/base/format.h"

namespace berth::kernels {
namespace {

struct Backend {
  std::string_view name;
  // Null where it is not part of this build.
  Result<std::unique_ptr<Device>> (*open)(const DeviceOptions&);
  std::string_view how_to_build;
};

constexpr Backend kBackends[] = {
    {"host", OpenHostDevice, ""},
    {"cuda", nullptr,
     "this build has no CUDA backend: build one with -DBERTH_CUDA=ON and the CUDA toolkit, or use "
     "a host card (host:0)"},
    {"hip", nullptr,
     "this build has no HIP backend: build one with -DBERTH_HIP=ON and the ROCm toolkit, or use a "
     "host card (host:0)"},
};

Status UnknownBackend(std::string_view card, std::string_view backend) {
  std::vector<std::string_view> names;
  std::string built_in;
  for (const Backend& known : kBackends) {
    names.push_back(known.name);
    if (known.open == nullptr) continue;
    if (!built_in.empty()) built_in += ", ";
    built_in += known.name;
  }
  return NotFoundError("card '" + std::string(card) + "': no backend is called '" +
                       std::string(backend) + "'" + DidYouMean(backend, names) +
                       "; built in: " + built_in);
}

}  // namespace

Result<std::unique_ptr<Device>> OpenDevice(const DeviceOptions& options) {
  const std::string_view card = options.name;
  const size_t colon = card.find(':');
  const std::string_view backend = card.substr(0, colon);
  uint32_t ordinal = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = card.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), ordinal);
    // "00" would be a second name of card 0, and two cards of one name are found out by name.
    const bool padded = digits.size() > 1 && digits.front() == '0';
    if (error != std::errc() || end != digits.end() || padded) {
      return InvalidArgumentError("card '" + options.name +
                                  "': expected <backend>:<number>, such as host:0");
    }
  }
  for (const Backend& known : kBackends) {
    if (known.name != backend) continue;
    if (known.open == nullptr) {
      return NotFoundError("card '" + options.name + "': " + std::string(known.how_to_build));
    }
    DeviceOptions named = options;
    named.name = std::string(backend) + ":" + std::to_string(ordinal);
    return known.open(named);
  }
  return UnknownBackend(card, backend);
}

}  // namespace berth::kernels
