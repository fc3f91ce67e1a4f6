// Runs a fuzz target over files and folders of files: its corpus as an ordinary test, in every
// build and without clang. It fails where it finds no input, and where the target does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

size_t Replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  // Every prefix too: truncated files are the most common bad input.
  const size_t step = std::max<size_t>(1, text.size() / 512);
  size_t runs = 0;
  for (size_t length = 0; length <= text.size(); length += step, ++runs) {
    // A copy of exact size, so that a sanitizer sees reads past its end.
    const std::vector<uint8_t> bytes(text.begin(), text.begin() + static_cast<ptrdiff_t>(length));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  const std::vector<uint8_t> whole(text.begin(), text.end());
  LLVMFuzzerTestOneInput(whole.data(), whole.size());
  return runs + 1;
}

}  // namespace

int main(int argc, char** argv) {
  size_t files = 0;
  size_t runs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      ++files;
      runs += Replay(entry.path());
    }
  }
  std::printf("%zu files, %zu inputs\n", files, runs);
  return files == 0 ? 1 : 0;
}
