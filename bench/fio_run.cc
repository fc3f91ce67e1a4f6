#include "bench/fio_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

namespace berth::bench {
namespace {

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Output(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  std::array<char, 4096> part;
  size_t bytes = 0;
  while ((bytes = std::fread(part.data(), 1, part.size(), pipe)) > 0)
    text.append(part.data(), bytes);
  return ::pclose(pipe) == 0 ? text : "";
}

}  // namespace

bool HaveFio() { return std::system("command -v fio >/dev/null 2>&1") == 0; }

Result<FioResult> RunFio(const FioRun& run) {
  // Without pages reserved for hugetlbfs, transparent huge pages come by glibc (2.35 or newer),
  // which advises malloc's mappings so, and by aligning the buffers to 2 MiB. As a thread: a job
  // that is a process calls setsid, and the scheduler then gives it a share of the CPU apart from
  // this session (autogroup), which on a busy machine is worth up to half of the speed.
  std::ostringstream command;
  command << "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 fio --name=read --readonly --rw=randread"
          << " --direct=1 --ioengine=io_uring --mem=malloc --iomem_align=2m --norandommap"
          << " --randrepeat=1 --thread --time_based --group_reporting --output-format=json"
          << " --filename=" << Quoted(run.path) << " --bs=" << run.block_bytes
          << " --iodepth=" << run.depth << " --runtime=" << std::llround(run.seconds * 1e3) << "ms"
          << " --randseed=" << run.seed;
  if (run.registered) command << " --fixedbufs=1 --registerfiles=1";
  const std::string text = Output(command.str() + " 2>/dev/null");
  const size_t begin = text.find('{');
  const auto json = nlohmann::json::parse(begin == std::string::npos ? "" : text.substr(begin),
                                          nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("jobs") || json["jobs"].empty()) {
    return UnavailableError("fio gave no result: run it by hand: " + command.str());
  }
  try {
    const auto& job = json["jobs"][0];
    const auto& read = job["read"];
    FioResult result;
    result.gb_per_s = read["bw_bytes"].get<double>() / 1e9;
    result.p50_ms = read["clat_ns"]["percentile"]["50.000000"].get<double>() / 1e6;
    result.p99_ms = read["clat_ns"]["percentile"]["99.000000"].get<double>() / 1e6;
    const double cpu = (job["usr_cpu"].get<double>() + job["sys_cpu"].get<double>()) / 100;
    const double seconds = read["runtime"].get<double>() / 1e3;
    result.cpu_us_per_read = cpu * seconds * 1e6 / std::max(read["total_ios"].get<double>(), 1.0);
    return result;
  } catch (const nlohmann::json::exception& error) {
    return UnavailableError(std::string("fio's result lacks a field: ") + error.what());
  }
}

}  // namespace berth::bench
