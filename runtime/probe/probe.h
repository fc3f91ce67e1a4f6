// Probe: times what a machine profile says of a card, and chooses the kernels of its grouped calls.
#ifndef BERTH_RUNTIME_PROBE_PROBE_H_
#define BERTH_RUNTIME_PROBE_PROBE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/status.h"
#include "kernels/device.h"
#include "runtime/config/profile_update.h"
#include "runtime/probe/probe_layer.h"
#include "runtime/probe/timing.h"

namespace berth::probe {

struct ProbeOptions {
  std::string model;  // measures its layers; empty: `types` of `shape`
  std::string conventions;
  std::vector<std::string> types = {"all"};
  ProbeShape shape;
  std::string device = "cuda:0";
  // Of a call; empty: 1 to 512 on a card, 1 to 64 on the host.
  std::vector<uint32_t> rows;
  uint64_t memory_bytes = 0;       // of the card; 0: what it has free
  uint64_t slot_bytes = 4e9;       // of units at most
  uint64_t copy_bytes = 64 << 20;  // of the buffers whose copies are timed
  uint64_t read_bytes = 1 << 30;   // of host memory that is read
  uint32_t threads = 0;            // of the host; 0: all
  uint32_t exact_rows = 8;         // as a run has it
  bool links = true;               // time copies as well
  TimingOptions timing;
  std::function<Result<std::unique_ptr<kernels::Device>>(const kernels::DeviceOptions&)>
      open_device = kernels::OpenDevice;
  // Called with calls that have been timed, and all that will be.
  std::function<void(uint64_t done, uint64_t of)> progress;
};

// Calls of so many rows of one kind of layer.
struct ProbeCell {
  struct Variant {
    kernels::KernelChoice kernel;
    double seconds = 0;
    bool same_bits = true;  // as the first; one that has others is not chosen
  };
  size_t layer = 0;  // of ProbeReport::layers
  uint32_t rows = 0;
  double units = 0;               // distinct, of a call
  std::vector<Variant> variants;  // the first is what runs unasked
  size_t chosen = 0;
};

struct ProbeReport {
  std::string device;
  std::string properties;  // empty on the host
  std::string machine;     // "2 cores, 2 processors, 1 NUMA node, 25.3 GB"
  uint32_t exact_rows = 0;
  std::vector<ProbeLayer> layers;
  std::vector<ProbeCell> cells;
  // For the profile; links and cards are those of a card, the host's figures those of the host.
  ProfileUpdate measured;
  std::vector<std::string> notes;
};

Result<ProbeReport> RunProbe(const ProbeOptions& options);

}  // namespace berth::probe

#endif  // BERTH_RUNTIME_PROBE_PROBE_H_
