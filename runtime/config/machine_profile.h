// A machine profile: what was measured on a machine, as JSON.
//
//   {"name": "desk", "notes": "...",
//    "storage": {"bytes_per_s": 6.8e9, "bytes_in_flight": 8388608},
//    "links": [{"card": "host:0", "bytes_per_s": 28.4e9}]}
//
// Every field but the name may be left out. Whatever is "auto" reads its costs from here, never
// from the running clock.
#ifndef BERTH_RUNTIME_CONFIG_MACHINE_PROFILE_H_
#define BERTH_RUNTIME_CONFIG_MACHINE_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"

namespace berth {

struct StorageProfile {
  double bytes_per_s = 0;        // of random unit reads; 0: not measured
  uint64_t bytes_in_flight = 0;  // where more does not help any more; 0: not measured
};

struct LinkProfile {
  std::string card;        // as --device has it, "host:0"
  double bytes_per_s = 0;  // host to card; 0: not measured
};

struct MachineProfile {
  std::string name;
  std::string notes;
  StorageProfile storage;
  std::vector<LinkProfile> links;  // no card twice
};

// InvalidArgument, "<name>: ...", for what is no JSON, an unknown field (with the nearest known
// one), a field that stands twice, a value of the wrong type or out of range. Text of more than
// 1 MiB is refused.
Result<MachineProfile> ParseMachineProfile(std::string_view text, std::string_view name);
Result<MachineProfile> ReadMachineProfile(const std::string& path);

}  // namespace berth

#endif  // BERTH_RUNTIME_CONFIG_MACHINE_PROFILE_H_
