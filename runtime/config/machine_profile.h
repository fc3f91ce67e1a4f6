// A machine profile: what was measured on a machine, as JSON (docs/formats.md has every field).
//
//   {"name": "desk", "notes": "...",
//    "storage": {"bytes_per_s": 6.8e9, "bytes_in_flight": 8388608, "source": "read_bench"},
//    "links": [{"card": "host:0", "bytes_per_s": 28.4e9}],
//    "cards": [{"card": "host:0", "memory_bytes": 24e9}],
//    "host": {"memory_bytes": 64e9}}
//
// Every field but the name may be left out. Whatever is "auto" reads its costs from here, never
// from the running clock. What the simulator assumes for an absent figure stands beside it.
#ifndef BERTH_RUNTIME_CONFIG_MACHINE_PROFILE_H_
#define BERTH_RUNTIME_CONFIG_MACHINE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/status.h"
#include "berth/types.h"
#include "kernels/kernel_choice.h"

namespace berth {

// A figure measured at every pair of some x and some y; both ascending. Empty: not measured. A
// grid over x alone has one y, 0.
struct ProfileGrid {
  std::vector<double> x, y;
  std::vector<double> value;  // [y][x]
  bool empty() const { return value.empty(); }
};

// Of each drive.
struct StorageProfile {
  double bytes_per_s = 0;           // of random unit reads; 0: not measured (3e9)
  uint64_t bytes_in_flight = 0;     // where more does not help any more; 0: not measured
  ProfileGrid rates;                // bytes_per_s by bytes of a read (x) and reads in flight (y)
  std::optional<double> latency_s;  // of a read, besides its bytes (0)
  std::string source;
};

struct LinkProfile {
  std::string card;                 // as --device has it, "host:0"
  double bytes_per_s = 0;           // host to card; 0: not measured (24e9)
  double to_host_bytes_per_s = 0;   // card to host; 0: as bytes_per_s
  double both_bytes_per_s = 0;      // of both directions together; 0: their sum
  ProfileGrid rates;                // bytes_per_s, host to card, by bytes of a copy (x)
  std::string copy_path;            // the faster one, "engine" or "kernel"; empty: not measured
  double kernel_bytes_per_s = 0;    // of units, host to card, by a kernel; 0: not measured
  std::optional<double> issue_s;    // of the thread that enqueues a copy (2.2e-6)
  std::optional<double> latency_s;  // until a copy that is over is known to be (0)
  std::string source;
};

// The fastest kernel of a card for calls of so many rows of layers of a type and shape.
struct MeasuredKernel {
  std::optional<TensorType> gate;  // absent: experts without one
  TensorType up = TensorType::kF32, down = TensorType::kF32;
  uint32_t hidden = 0, ffn = 0, experts = 0, top_k = 0;
  uint32_t rows = 0;
  kernels::KernelChoice kernel;
  double seconds = 0;  // of a call; 0: not said

  // All that says which calls are meant.
  bool SameCalls(const MeasuredKernel& other) const;
};

struct CardProfile {
  std::string card;
  // Of the card that figures were measured on, as its driver says them: choices of kernels belong
  // to no other. Empty: not said.
  std::string properties;
  uint64_t memory_bytes = 0;            // for arena and ring; 0: not known, --arena must be given
  std::optional<double> update_s;       // of a table update (2e-6)
  std::optional<double> reduce_s;       // of a step's sum over its units, once a step (0)
  uint64_t unit_bytes = 0;              // of the units that `kernels` was measured with
  ProfileGrid kernels;                  // seconds of a call by units (x) and rows a unit (y)
  double bytes_per_s = 0;               // where kernels were not measured: bytes of units (500e9)
  std::vector<MeasuredKernel> choices;  // no calls twice
  std::string source;
};

struct HostProfile {
  uint64_t memory_bytes = 0;                // for the host tier and staging; 0: no limit
  std::optional<double> round_trip_s;       // card to host and back, once a step (0)
  std::optional<double> dispatch_hit_s;     // of the thread that sends a hit's work out (0)
  std::optional<double> dispatch_staged_s;  // the same for a missed unit (0)
  std::optional<double> pass_s;             // the rest of the model, once a pass (0)
  std::optional<double> pass_row_s;         // the same for every row of it (0)
  double read_bytes_per_s = 0;              // of its memory, all threads; 0: not measured
  ProfileGrid compute;  // bytes_per_s of units computed here, by rows a unit (x)
  std::string source;
};

struct MachineProfile {
  std::string name;
  std::string notes;
  StorageProfile storage;
  std::vector<LinkProfile> links;  // no card twice
  std::vector<CardProfile> cards;  // no card twice
  HostProfile host;
};

inline constexpr uint64_t kMaxProfileBytes = 1u << 20;

// InvalidArgument, "<name>: ...", for what is no JSON, an unknown field (with the nearest known
// one), a field that stands twice, a value of the wrong type or out of range, points that make no
// grid. NotFound for a card of a backend that there is not. Text of more than 1 MiB is refused.
Result<MachineProfile> ParseMachineProfile(std::string_view text, std::string_view name);
Result<MachineProfile> ReadMachineProfile(const std::string& path);

// Profiles that are built in, by name: what --profile takes besides a file.
struct BuiltInProfile {
  std::string_view name;
  std::string_view text;
};
std::vector<BuiltInProfile> BuiltInProfiles();
// A file where there is one, else the built-in profile of that name. NotFound lists the names.
Result<MachineProfile> FindMachineProfile(const std::string& file_or_name);

}  // namespace berth

#endif  // BERTH_RUNTIME_CONFIG_MACHINE_PROFILE_H_
