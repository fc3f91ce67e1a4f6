// The flags of `berth run` and `berth simulate`, from the command line and from a config file.
#ifndef BERTH_RUNTIME_TOOLS_RUN_FLAGS_H_
#define BERTH_RUNTIME_TOOLS_RUN_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "berth/status.h"
#include "runtime/config/machine_profile.h"
#include "runtime/config/toml_config.h"
#include "runtime/run/runner.h"
#include "runtime/tools/replay_flags.h"

namespace berth::tools {

class RunFlags {
 public:
  // A simulation needs no model, takes any card (those of its profile where none is given) and
  // knows chunk 0.
  enum class Use : uint8_t { kRun, kSimulate };
  // `more_keys`: flags of the command itself that a config file may set; they outlive this.
  explicit RunFlags(Use use = Use::kRun, std::span<const ConfigKey> more_keys = {})
      : use_(use), more_keys_(more_keys) {}
  void AddTo(CLI::App* app);
  // Fills in what the config file says and the command line does not, checks what only makes sense
  // together, and gives the options of the run.
  Result<RunOptions> Options(CLI::App* app);

  const std::string& json() const { return json_; }
  // After Options; empty where none was given.
  const MachineProfile& profile() const { return machine_; }
  // Files that the run reads besides the model; empty where there is none.
  std::vector<std::string> inputs() const { return {trace_, config_, profile_, replay_.warm()}; }

 private:
  Status ReadConfig(CLI::App* app);
  Status ReadProfile();
  Status Miss(MissChoice* miss) const;
  void TakeProfile(RunOptions* options) const;
  Status Cards(RuntimeOptions* options) const;
  void SetCopyPath(bool beside_others, CardConfig* card) const;

  const Use use_;
  const std::span<const ConfigKey> more_keys_;
  MachineProfile machine_;
  std::string model_;
  std::string trace_;
  std::string config_;
  std::string profile_;
  std::string json_;
  std::string conventions_;
  std::vector<std::string> devices_;
  std::vector<std::string> arenas_, memories_, links_;
  std::string host_tier_ = "0";
  std::string host_tier_mode_ = "inclusive";
  std::string placement_ = "ep";
  std::string miss_ = "stage";
  std::string copy_path_ = "auto";
  std::string slots_ = "auto";
  std::string staging_ = "0";
  std::string read_in_flight_;
  bool no_compute_ = false;
  bool no_pin_ = false;
  bool no_checksums_ = false;
  RuntimeOptions runtime_;
  ReplayFlags replay_;
};

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_RUN_FLAGS_H_
