// Rules about the text of one file, and about files that nothing builds.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "tests/style/rules.h"

namespace berth::style {
namespace {

constexpr size_t kMaxColumns = 100;
constexpr size_t kMaxLines = 600;

// Written in two pieces, so that this file keeps its own rule.
constexpr std::array<std::string_view, 3> kLeftOver = {
    "TO"
    "DO",
    "FIX"
    "ME",
    "XX"
    "X:"};

// Columns, not bytes: continuation bytes of UTF-8 take no column.
size_t Columns(std::string_view line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void CheckLine(const SourceFile& file, size_t number, std::string_view line,
               std::vector<Finding>* findings) {
  const auto add = [&](const char* rule, std::string what) {
    findings->push_back({file.path, number, rule, std::move(what)});
  };
  if ((file.IsCode() || file.IsCMake()) && Columns(line) > kMaxColumns) {
    add("line-length", std::to_string(Columns(line)) + " columns; at most 100");
  }
  if (line.find('\t') != std::string_view::npos) add("tab", "a tab; indent with spaces");
  if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
    add("trailing-space", "ends in a space or a carriage return");
  }
  for (std::string_view word : kLeftOver) {
    if (line.find(word) != std::string_view::npos) {
      add("left-over", std::string(word) + ": finish it or describe it in docs/");
    }
  }
  if (file.IsCMake()) {
    std::string squeezed;
    for (char c : line.substr(0, line.find('#'))) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        squeezed += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      }
    }
    if (squeezed.find("FILE(GLOB") != std::string::npos) {
      add("glob", "name the files; a pattern hides dead ones");
    }
  }
}

std::string ExpectedGuard(std::string path) {
  constexpr std::string_view kPublic = "runtime/include/berth/";
  if (path.starts_with(kPublic)) path = path.substr(kPublic.size());
  std::string guard = "BERTH_";
  for (char c : path) {
    const auto letter = static_cast<unsigned char>(c);
    guard += std::isalnum(letter) != 0 ? static_cast<char>(std::toupper(letter)) : '_';
  }
  return guard + "_";
}

// Words of a CMakeLists.txt outside its comments.
std::set<std::string> Words(const SourceFile& file) {
  std::set<std::string> words;
  for (const std::string& line : file.lines) {
    std::string word;
    for (char c : line.substr(0, line.find('#')) + " ") {
      if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != '(' && c != ')' && c != '"') {
        word += c;
      } else if (!word.empty()) {
        words.insert(word);
        word.clear();
      }
    }
  }
  return words;
}

}  // namespace

void CheckText(const SourceFile& file, std::vector<Finding>* findings) {
  for (size_t i = 0; i < file.lines.size(); ++i) {
    CheckLine(file, i + 1, file.lines[i], findings);
  }
  if (!file.ends_with_newline) {
    findings->push_back({file.path, file.lines.size(), "newline", "no newline at the end"});
  }
  if (file.IsCode() && file.lines.size() > kMaxLines) {
    findings->push_back({file.path, 0, "file-length",
                         std::to_string(file.lines.size()) + " lines; split it, one idea a file"});
  }
}

void CheckHeaderGuard(const SourceFile& file, std::vector<Finding>* findings) {
  if (!file.IsHeader()) return;
  const std::string guard = ExpectedGuard(file.path);
  const std::string lines[] = {"#ifndef " + guard, "#define " + guard, "#endif  // " + guard};
  for (const std::string& wanted : lines) {
    if (std::find(file.lines.begin(), file.lines.end(), wanted) == file.lines.end()) {
      findings->push_back({file.path, 0, "header-guard", "lacks the line '" + wanted + "'"});
    }
  }
  for (size_t i = 0; i < file.lines.size(); ++i) {
    if (file.lines[i].starts_with("#pragma once")) {
      findings->push_back({file.path, i + 1, "pragma-once", "use the guard " + guard});
    }
  }
}

void CheckDeadFiles(const std::vector<SourceFile>& files, std::vector<Finding>* findings) {
  // Full paths that some CMakeLists.txt names, from its own folder.
  std::set<std::string> named;
  for (const SourceFile& file : files) {
    if (!file.path.ends_with("CMakeLists.txt")) continue;
    const std::string folder = file.Directory().empty() ? "" : file.Directory() + "/";
    for (const std::string& word : Words(file)) {
      named.insert(std::filesystem::path(folder + word).lexically_normal().generic_string());
    }
  }
  for (const SourceFile& file : files) {
    if (file.IsCompiled() && named.count(file.path) == 0) {
      findings->push_back({file.path, 0, "dead-file", "no CMakeLists.txt names it"});
    }
  }
}

}  // namespace berth::style
