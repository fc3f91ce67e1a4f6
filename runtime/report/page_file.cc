#include "runtime/report/page_file.h"

#include "runtime/report/page.h"

namespace berth::report {

Result<PageFile> PageFile::Open(const std::string& path, std::span<const std::string> inputs,
                                bool replace) {
  BERTH_RETURN_IF_ERROR(CheckPagesWork());
  if (path.empty() || path == "-") {
    return InvalidArgumentError("--html '" + path + "': name a file");
  }
  BERTH_RETURN_IF_ERROR(
      io::CheckIsNoInput(path, inputs, "an input of this very run").Annotate("--html"));
  Result<std::unique_ptr<io::OutputFile>> file =
      io::OutputFile::Create(path, 0, {.replace = replace});
  if (!file.ok()) return file.status().Annotate("--html");
  return PageFile(std::move(*file));
}

Status PageFile::Write(std::string_view html) {
  BERTH_RETURN_IF_ERROR(file_->WriteAt(0, std::as_bytes(std::span(html))));
  return file_->Commit();
}

}  // namespace berth::report
