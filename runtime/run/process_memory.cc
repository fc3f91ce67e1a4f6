#include "runtime/run/process_memory.h"

#include <cstring>
#include <fstream>
#include <string>

namespace berth {

uint64_t PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    // "VmHWM:     12345 kB"
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

void ResetPeakResidentBytes() {
  // "5" resets the peak (proc(5), clear_refs); where it is not allowed the peak is the process's.
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace berth
