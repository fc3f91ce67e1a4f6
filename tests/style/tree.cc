#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/style/rules.h"

namespace berth::style {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kFolders = {
    "runtime", "scheduler", "policies", "arena", "io", "kernels", "tests", "bench", "docs"};
constexpr std::array<std::string_view, 12> kRootNames = {"CMakeLists.txt",
                                                         "README.md",
                                                         "LICENSE",
                                                         ".clang-format",
                                                         ".clang-tidy",
                                                         "build",
                                                         "CMakePresets.json",
                                                         ".gitignore",
                                                         ".git",
                                                         ".ci",
                                                         ".cache",
                                                         "compile_commands.json"};
constexpr std::array<std::string_view, 10> kTextEndings = {".h",  ".cc",   ".cu", ".cpp", ".cmake",
                                                           ".md", ".toml", ".in", ".py",  ".json"};

bool IsText(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name == "CMakeLists.txt") return true;
  const std::string ending = path.extension().string();
  // Scripts have no ending.
  if (ending.empty()) return true;
  return std::find(kTextEndings.begin(), kTextEndings.end(), ending) != kTextEndings.end();
}

SourceFile ReadOne(const fs::path& root, const fs::path& path) {
  SourceFile file;
  file.path = fs::relative(path, root).generic_string();
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    file.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  file.ends_with_newline = text.empty() || text.back() == '\n';
  return file;
}

// Data is not text that a person wrote.
bool IsData(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "corpus" || name == "data" || name == "__pycache__";
}

}  // namespace

bool SourceFile::IsCompiled() const {
  return path.ends_with(".cc") || path.ends_with(".cpp") || path.ends_with(".cu");
}

bool SourceFile::IsCMake() const {
  return path.ends_with("CMakeLists.txt") || path.ends_with(".cmake");
}

std::string SourceFile::Directory() const {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<SourceFile> ReadTree(const fs::path& root) {
  std::vector<fs::path> paths;
  for (std::string_view name : {"CMakeLists.txt", "README.md", "CMakePresets.json"}) {
    if (fs::exists(root / name)) paths.push_back(root / name);
  }
  std::vector<fs::path> folders(kFolders.begin(), kFolders.end());
  folders.emplace_back(".ci");
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(root / folder)) continue;
    fs::recursive_directory_iterator entries(root / folder);
    for (auto entry = begin(entries); entry != end(entries); ++entry) {
      if (entry->is_directory()) {
        if (IsData(entry->path())) entry.disable_recursion_pending();
      } else if (IsText(entry->path())) {
        paths.push_back(entry->path());
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> files;
  for (const fs::path& path : paths) files.push_back(ReadOne(root, path));
  return files;
}

void CheckRoot(const fs::path& root, std::vector<Finding>* findings) {
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kFolders.begin(), kFolders.end(), name) != kFolders.end() ||
        std::find(kRootNames.begin(), kRootNames.end(), name) != kRootNames.end() ||
        name.starts_with("build-")) {
      continue;
    }
    findings->push_back({name, 0, "root", "does not belong in the root; put it into its folder"});
  }
}

std::vector<Finding> CheckTree(const fs::path& root) {
  std::vector<Finding> findings;
  const std::vector<SourceFile> files = ReadTree(root);
  for (const SourceFile& file : files) {
    CheckText(file, &findings);
    CheckHeaderGuard(file, &findings);
    CheckIncludes(file, root, &findings);
  }
  CheckOnePlace(files, &findings);
  CheckDeadFiles(files, &findings);
  CheckRoot(root, &findings);
  return findings;
}

}  // namespace berth::style
