// The rules of the house that a program can check. Each finding is one line that says file, line
// and what to do.
#ifndef BERTH_TESTS_STYLE_RULES_H_
#define BERTH_TESTS_STYLE_RULES_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace berth::style {

struct Finding {
  std::string file;  // from the root
  size_t line = 0;   // from 1; 0: the file as a whole
  std::string rule;  // its name: "include", "line-length", ...
  std::string what;
};

// A text file of the tree.
struct SourceFile {
  std::string path;  // from the root, with '/'
  std::vector<std::string> lines;
  bool ends_with_newline = true;

  bool IsHeader() const { return path.ends_with(".h"); }
  bool IsCompiled() const;  // a source that some CMakeLists.txt must name
  bool IsCode() const { return IsHeader() || IsCompiled(); }
  bool IsCMake() const;
  std::string Directory() const;  // "" for the root
};

// Every file of the project that a person wrote: the nine folders, the root's own files and .ci.
std::vector<SourceFile> ReadTree(const std::filesystem::path& root);

// All rules over a tree, in the order of the files.
std::vector<Finding> CheckTree(const std::filesystem::path& root);

// The parts of CheckTree.
void CheckText(const SourceFile& file, std::vector<Finding>* findings);
void CheckHeaderGuard(const SourceFile& file, std::vector<Finding>* findings);
void CheckIncludes(const SourceFile& file, const std::filesystem::path& root,
                   std::vector<Finding>* findings);
void CheckOnePlace(const std::vector<SourceFile>& files, std::vector<Finding>* findings);
void CheckDeadFiles(const std::vector<SourceFile>& files, std::vector<Finding>* findings);
void CheckRoot(const std::filesystem::path& root, std::vector<Finding>* findings);

// The name that #include on this line asks for; empty where there is none.
std::string_view IncludedName(std::string_view line);

}  // namespace berth::style

#endif  // BERTH_TESTS_STYLE_RULES_H_
