// What the studies of a trace on a machine's profile share: their flags, and the simulation that
// they begin from.
#ifndef BERTH_BENCH_STUDY_H_
#define BERTH_BENCH_STUDY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "berth/status.h"
#include "runtime/config/machine_profile.h"
#include "runtime/simulate/simulate.h"
#include "runtime/trace/trace.h"

namespace berth::bench {

struct StudyFlags {
  std::string trace;
  std::string profile = "2x7900xtx";
  uint64_t unit_bytes = 2329600;
  uint64_t passes = 0;
  double share = 0;  // what the flag that is the study's own says
};

// A trace and a profile that are there.
struct Study {
  StudyFlags flags;
  std::unique_ptr<TraceFile> trace;
  MachineProfile profile;

  // Every card of the profile, `resident` of the units in their arenas and `ram` of them in RAM.
  SimulateOptions Options(double resident, double ram) const;
};

// Reads the flags, opens what they name, runs, and gives the program's exit code: 2 for a wrong
// request, 1 for a failure, each with one line. `flags` holds the defaults; `share_flag` is the
// study's own flag, a share from 0 to 1.
int RunStudy(int argc, char** argv, StudyFlags flags, const std::string& summary,
             const std::string& share_flag, const std::string& share_help,
             const std::function<Status(const Study&)>& run);

}  // namespace berth::bench

#endif  // BERTH_BENCH_STUDY_H_
