// The flags of `berth curve`.
#ifndef BERTH_RUNTIME_TOOLS_CURVE_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_CURVE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/curve/curve.h"

namespace berth::tools {

class CurveFlags {
 public:
  void AddTo(CLI::App* app);
  // Checks what only makes sense together. Reads no file: heat is the caller's.
  Result<curve::CurveOptions> Options() const;

  // As given, for reports.
  std::string trace;
  std::string warm;
  std::string json, html;
  std::string scope = "shared", granularity = "step", admit = "policy", between = "carried";
  std::vector<std::string> sizes;
  bool per_layer = false;
  bool force = false;

 private:
  std::vector<std::string> policies_;
  PassOptions passes_;
  std::string unit_bytes_;
  uint64_t warmup_ = 0;
  uint64_t seed_ = 1;
  bool preload_ = false;
};

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_CURVE_FLAGS_H_
