// Where a page goes: a file that appears whole or not at all.
#ifndef BERTH_RUNTIME_REPORT_PAGE_FILE_H_
#define BERTH_RUNTIME_REPORT_PAGE_FILE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "berth/status.h"
#include "io/file/output_file.h"

namespace berth::report {

class PageFile {
 public:
  // Before the work, which may take long: what can be refused is refused here. FailedPrecondition
  // if `path` exists, unless `replace`; InvalidArgument if it is one of `inputs`.
  static Result<PageFile> Open(const std::string& path, std::span<const std::string> inputs,
                               bool replace);
  Status Write(std::string_view html);

 private:
  explicit PageFile(std::unique_ptr<io::OutputFile> file) : file_(std::move(file)) {}

  std::unique_ptr<io::OutputFile> file_;
};

}  // namespace berth::report

#endif  // BERTH_RUNTIME_REPORT_PAGE_FILE_H_
