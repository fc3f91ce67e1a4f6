// --save-learned, of every command that plays a trace.
#ifndef BERTH_RUNTIME_TOOLS_LEARNED_H_
#define BERTH_RUNTIME_TOOLS_LEARNED_H_

#include "berth/status.h"
#include "runtime/run/runner.h"
#include "runtime/tools/run_flags.h"

namespace berth::tools {

// Before the work: whether the file can be written. The heat file that a run begins with may be the
// one that it writes.
Status CheckLearned(const RunOptions& options, const RunFlags& flags);
// After it; nothing where nothing is to be saved.
Status WriteLearned(const RunOptions& options, const RunReport& report);

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_LEARNED_H_
