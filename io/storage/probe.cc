#include "io/storage/probe.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/math.h"

namespace berth::io {
namespace {

struct FreePage {
  void operator()(void* page) const { std::free(page); }
};

Status ProbeOne(const FileSet& files, uint32_t file, std::byte* destination,
                const ProbeReader& reader) {
  const auto need = static_cast<uint32_t>(std::min<uint64_t>(files.bytes(file), kIoAlign));
  ReadProgress progress(
      ReadRequest{.file = file, .length = kIoAlign, .need = need, .destination = destination});
  for (;;) {
    switch (progress.Advance(reader(file, progress.Next()))) {
      case ReadProgress::Action::kDone:
        return progress.Finish(files.path(file)).status;
      case ReadProgress::Action::kAgain:
        break;
      case ReadProgress::Action::kAgainAfterDelay:
        std::this_thread::sleep_for(std::chrono::microseconds(progress.delay_us()));
    }
  }
}

}  // namespace

Status ProbeReads(const FileSet& files, std::span<const BufferRegion> buffers,
                  const ProbeReader& reader) {
  std::vector<std::byte*> pages;
  for (const BufferRegion& buffer : buffers) {
    if (buffer.bytes >= kIoAlign) pages.push_back(buffer.begin);
  }
  std::unique_ptr<void, FreePage> own;
  if (pages.empty()) {
    own.reset(std::aligned_alloc(kIoAlign, kIoAlign));
    if (own == nullptr) return ResourceExhaustedError("no memory for a page to probe reads with");
    pages.push_back(static_cast<std::byte*>(own.get()));
  }
  for (uint32_t file = 0; file < files.size(); ++file) {
    BERTH_RETURN_IF_ERROR(ProbeOne(files, file, pages[0], reader));
  }
  for (size_t i = 1; i < pages.size(); ++i) {
    BERTH_RETURN_IF_ERROR(
        ProbeOne(files, 0, pages[i], reader).Annotate(absl::StrCat("into buffer ", i)));
  }
  return Status();
}

}  // namespace berth::io
