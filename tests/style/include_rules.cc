// Rules about #include: which folder may use which, and where each outside library lives.
#include <algorithm>
#include <map>
#include <set>

#include "tests/style/rules.h"

namespace berth::style {
namespace {

using Prefixes = std::vector<std::string_view>;

// Base types, which every folder may use.
const Prefixes kBase = {"berth/counters.h", "berth/status.h", "berth/types.h", "runtime/base/"};

// The longest `folder` that begins a file's path decides what it may include of the project
// (docs/architecture.md, "Layout"). Public headers are written "berth/..." and belong to runtime.
struct FolderRule {
  std::string_view folder;
  bool base;
  Prefixes may_use;
};
const std::vector<FolderRule>& FolderRules() {
  static const auto* const rules = new std::vector<FolderRule>{
      {"runtime/",
       true,
       {"berth/", "runtime/", "scheduler/", "policies/", "arena/", "io/", "kernels/"}},
      {"runtime/include/berth/", false, {"berth/"}},
      {"runtime/base/", true, {}},
      {"scheduler/",
       true,
       {"scheduler/", "arena/", "policies/", "io/storage.h", "kernels/device.h",
        "kernels/expert/expert_spec.h", "kernels/expert/grouped_call.h"}},
      {"policies/", true, {"policies/"}},
      {"arena/", true, {"arena/", "kernels/device.h"}},
      {"io/", true, {"io/"}},
      {"kernels/", true, {"kernels/"}},
      {"tests/", true, {""}},
      {"bench/", true, {""}},
  };
  return *rules;
}

// Outside libraries by how their headers begin. `only_in`: files whose path begins so may include
// them. `one_file`: no more than one file of these may (tests apart).
struct LibraryRule {
  std::string_view name;
  Prefixes headers;
  Prefixes only_in;
  bool one_file;
};
const std::vector<LibraryRule>& LibraryRules() {
  static const auto* const rules = new std::vector<LibraryRule>{
      {"liburing", {"liburing.h", "liburing/"}, {"io/"}, true},
      {"hwloc", {"hwloc.h", "hwloc/"}, {"arena/"}, true},
      {"oneTBB", {"tbb/", "oneapi/"}, {"kernels/host/"}, true},
      {"xxHash", {"xxhash.h", "xxh3.h"}, {"runtime/base/hash.cc"}, true},
      {"toml++", {"toml++/", "toml.hpp"}, {"runtime/config/toml_config.cc"}, true},
      {"CLI11", {"CLI/"}, {"bench/", "runtime/tools/"}, false},
      {"nlohmann-json", {"nlohmann/"}, {"bench/", "io/safetensors/", "runtime/", "tests/"}, false},
      {"GoogleTest", {"gtest/", "gmock/"}, {"tests/"}, false},
      {"Google Benchmark", {"benchmark/"}, {"bench/"}, false},
      {"CUDA",
       {"cuda.h", "cuda_", "cuda/", "cublas", "cub/", "nvml.h", "nvrtc.h", "nccl.h", "thrust/"},
       {"kernels/gpu/", "tests/kernels/gpu/hip_on_cuda/"},
       false},
      {"HIP", {"hip/", "rccl", "hipblas", "rocm", "hsa"}, {"kernels/gpu/"}, false},
      {"Abseil",
       {"absl/"},
       {"runtime/", "scheduler/", "policies/", "arena/", "io/", "kernels/", "tests/", "bench/"},
       false},
  };
  return *rules;
}

// Folders of system headers.
const Prefixes kSystem = {"sys/", "linux/", "bits/", "sanitizer/"};

bool BeginsWithAny(std::string_view text, const Prefixes& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

const LibraryRule* LibraryOf(std::string_view header) {
  for (const LibraryRule& rule : LibraryRules()) {
    if (BeginsWithAny(header, rule.headers)) return &rule;
  }
  return nullptr;
}

const FolderRule* RuleOf(std::string_view path) {
  const FolderRule* best = nullptr;
  for (const FolderRule& rule : FolderRules()) {
    if (path.starts_with(rule.folder) &&
        (best == nullptr || rule.folder.size() > best->folder.size())) {
      best = &rule;
    }
  }
  return best;
}

bool InProject(std::string_view name, const std::filesystem::path& root) {
  return std::filesystem::exists(root / name) ||
         std::filesystem::exists(root / "runtime/include" / name);
}

bool IsPublic(const SourceFile& file) { return file.path.starts_with("runtime/include/"); }

// What is wrong with including `name` here; empty where nothing is.
std::string WrongWith(const SourceFile& file, std::string_view name, bool quoted,
                      const std::filesystem::path& root) {
  if (const LibraryRule* library = LibraryOf(name)) {
    if (IsPublic(file)) return "public headers use the standard library alone";
    if (BeginsWithAny(file.path, library->only_in)) return "";
    std::string places;
    for (std::string_view place : library->only_in) places += " " + std::string(place);
    return std::string(library->name) + " lives in" + places;
  }
  if (!quoted) {
    if (name.find('/') == std::string_view::npos || BeginsWithAny(name, kSystem)) return "";
    return "an outside library that no rule knows";
  }
  if (!InProject(name, root)) return "write the path from the root";
  const FolderRule* rule = RuleOf(file.path);
  if (rule == nullptr) return "this folder has no rule; add one";
  if ((rule->base && BeginsWithAny(name, kBase)) || BeginsWithAny(name, rule->may_use)) return "";
  return std::string(rule->folder) + " may not use it (dependency direction)";
}

}  // namespace

std::string_view IncludedName(std::string_view line) {
  constexpr std::string_view kDirective = "#include ";
  if (!line.starts_with(kDirective)) return {};
  line.remove_prefix(kDirective.size());
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(1, end - 1);
}

void CheckIncludes(const SourceFile& file, const std::filesystem::path& root,
                   std::vector<Finding>* findings) {
  if (!file.IsCode()) return;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string_view name = IncludedName(file.lines[i]);
    if (name.empty()) continue;
    const bool quoted = file.lines[i].find('"') != std::string::npos;
    const std::string wrong = WrongWith(file, name, quoted, root);
    if (wrong.empty()) continue;
    findings->push_back({file.path, i + 1, "include", "'" + std::string(name) + "': " + wrong});
  }
}

void CheckOnePlace(const std::vector<SourceFile>& files, std::vector<Finding>* findings) {
  std::map<std::string_view, std::set<std::string>> users;
  for (const SourceFile& file : files) {
    if (!file.IsCode() || file.path.starts_with("tests/")) continue;
    for (const std::string& line : file.lines) {
      const LibraryRule* library = LibraryOf(IncludedName(line));
      if (library != nullptr && library->one_file) users[library->name].insert(file.path);
    }
  }
  for (const auto& [library, paths] : users) {
    for (auto path = std::next(paths.begin()); path != paths.end(); ++path) {
      findings->push_back({*path, 0, "one-place",
                           std::string(library) + " is already used in " + *paths.begin() +
                               "; keep it in one file"});
    }
  }
}

}  // namespace berth::style
