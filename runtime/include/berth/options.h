// Options of a Runtime: every knob, with its default, in one place. Validated once by
// Runtime::Open, then frozen.
#ifndef BERTH_OPTIONS_H_
#define BERTH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

// One card.
struct CardConfig {
  std::string device = "host:0";  // "<backend>:<ordinal>", such as "cuda:0"
  uint64_t arena_bytes = 0;       // slots only; 0: what the card's memory and the model suggest
  // Memory of the card that may be used; 0: of a host card what the machine has left, of another
  // all that is free but a reserve.
  uint64_t memory_bytes = 0;
  double link_bytes_per_s = 0;  // imposed on a host card's copies; 0: none
  // How bytes cross, not on host cards: "engine" (the driver's copies) or "kernel" (one that reads
  // and writes mapped host memory). Outputs are the same bits.
  std::string copy_path = "engine";
};

// Which slots a unit may take within its size class.
enum class SlotSharingChoice : uint8_t { kAuto, kShared, kPerLayer };

// What a step does with a unit that is not in its card's arena. Outputs are the same bits.
enum class MissChoice : uint8_t {
  kStage,  // it is copied to its card and computed there
  // The host computes it where its bytes lie in RAM, if its step has few rows for it; a unit that
  // the policy admits is loaded behind the step, as far as the link is free.
  kHost,
  kAuto,  // split between these two, so that both end about together by what `profile` says
  // Its card computes it from RAM, over its link, whatever the number of rows; else as kHost.
  kInPlace,
};

struct RuntimeOptions {
  std::string model;        // a GGUF, any of its shards, or a pack
  std::string conventions;  // of an architecture that is not in the table; see docs/formats.md
  std::vector<CardConfig> cards = {CardConfig()};

  std::string policy = "hazard";  // of the arenas: "name" or "name:key=value,..."
  SlotSharingChoice slots = SlotSharingChoice::kAuto;
  uint32_t chunk = 8;  // missed units per wave
  MissChoice miss = MissChoice::kStage;
  // What things cost on this machine, for misses that the host may compute, and which kernels are
  // the fastest on its cards: a machine profile's file, or the name of a built-in one
  // (docs/formats.md). Empty: that page's defaults.
  std::string profile;
  uint32_t ring_units = 0;   // units that run without a slot at once; 0: two waves
  uint32_t sweep_rows = 64;  // a step of more rows is a prompt's sweep
  double sweep_share = 0.5;  // of a pool that sweeps may take from decode

  // How hot each unit is, [layers x experts]: larger is hotter, none negative, 0: nothing known. As
  // Runtime::Learned gives it, or from a profile. Empty: none. Policies begin with it.
  std::vector<double> heat;
  // Open fills the arenas with the hottest units of `heat`. A unit that cannot be read is left out,
  // and a note says so.
  bool preload = false;

  uint64_t host_tier_bytes = 0;  // 0: no host tier, units pass through staging only
  bool host_exclusive = false;   // a unit in an arena is not kept in RAM as well
  std::string host_policy = "hazard";
  uint64_t staging_bytes = 0;  // pinned, for units on their way; 0: four waves, at least 64 MB

  std::string io_engine = "auto";              // "auto", "uring", "pread", "buffered"
  bool io_strict = false;                      // refuse instead of stepping down from that engine
  uint64_t read_bytes_in_flight = 32u << 20;   // per drive
  uint64_t prefetch_read_bytes_in_flight = 0;  // of hints; 0: one unit
  bool verify_checksums = true;                // of every unit read, where the model has checksums

  uint32_t max_rows = 1;       // rows of a step
  uint32_t max_sessions = 1;   // open at once
  uint32_t max_in_flight = 2;  // steps a session may have enqueued and not done
  uint32_t threads = 0;        // for expert math on the host; 0: all of the machine
  // Each of them stays on a processor of its own, all cores once before any core twice.
  bool pin_threads = true;
  // Of expert math: "exact" (the same bits on every processor; docs/arithmetic.md) or "f32", the
  // reference for accuracy.
  std::string arithmetic = "exact";
  uint32_t exact_rows = 8;   // rows of a unit in one step up to which exact holds; more run wide
  std::string isa = "auto";  // instruction set of expert math on the host; every one gives the same
  bool compute = true;       // false: move units, compute nothing (to measure the way in)
  uint64_t seed = 1;
};

}  // namespace berth

#endif  // BERTH_OPTIONS_H_
