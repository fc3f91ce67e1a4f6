// A directory of its own for each test, removed afterwards.
#ifndef BERTH_TESTS_TEMPORARY_DIRECTORY_H_
#define BERTH_TESTS_TEMPORARY_DIRECTORY_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace berth::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_TEMPORARY_DIRECTORY_H_
