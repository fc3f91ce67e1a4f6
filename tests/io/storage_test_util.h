// What the storage tests share: files with known bytes, page-aligned memory, a sink that remembers.
#ifndef BERTH_TESTS_IO_STORAGE_TEST_UTIL_H_
#define BERTH_TESTS_IO_STORAGE_TEST_UTIL_H_

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/storage.h"
#include "runtime/base/check.h"
#include "runtime/base/mutex.h"

namespace berth::io {

// The bytes of test file `file`: no two pages are alike, so a read that went astray shows.
inline std::vector<std::byte> TestFile(uint32_t file, uint64_t bytes) {
  std::vector<uint64_t> words(bytes / 8 + 1);
  for (uint64_t i = 0; i < words.size(); ++i) {
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ull + file * 0xD1B54A32D192ED03ull;
    x ^= x >> 29;
    words[i] = x * 0xBF58476D1CE4E5B9ull;
  }
  std::vector<std::byte> content(bytes);
  std::memcpy(content.data(), words.data(), bytes);
  return content;
}

inline constexpr std::byte kPoison{0xEE};

inline bool IsPoison(const std::byte* begin, size_t bytes) {
  return bytes == 0 || (begin[0] == kPoison && std::memcmp(begin, begin + 1, bytes - 1) == 0);
}

// Page-aligned memory, poisoned.
class AlignedMemory {
 public:
  explicit AlignedMemory(size_t bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))) {
    BERTH_CHECK(data_ != nullptr);
    Poison();
  }
  ~AlignedMemory() { std::free(data_); }
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;
  void Poison() { std::memset(data_, static_cast<int>(kPoison), bytes_); }
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  BufferRegion region() const { return {data_, bytes_}; }

 private:
  size_t bytes_;
  std::byte* data_;
};

// Remembers every result by token; `then`, if set, runs inside the callback.
class CollectingSink : public ReadSink {
 public:
  void ReadCompleted(const ReadResult& result) override {
    if (then) then(result);
    MutexLock lock(&mutex_);
    results_[result.token].push_back(result);
    ++count_;
    changed_.SignalAll();
  }
  // False when they did not come within a minute.
  bool WaitFor(size_t count) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    MutexLock lock(&mutex_);
    while (count_ < count) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left.count() <= 0) return false;
      changed_.WaitFor(&mutex_, left);
    }
    return true;
  }
  size_t count() const {
    MutexLock lock(&mutex_);
    return count_;
  }
  std::map<uint64_t, std::vector<ReadResult>> results() const {
    MutexLock lock(&mutex_);
    return results_;
  }
  void Forget() {
    MutexLock lock(&mutex_);
    results_.clear();
    count_ = 0;
  }
  ReadResult Only(uint64_t token) const {
    MutexLock lock(&mutex_);
    const auto found = results_.find(token);
    BERTH_CHECK(found != results_.end() && found->second.size() == 1);
    return found->second[0];
  }

  std::function<void(const ReadResult&)> then;

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, std::vector<ReadResult>> results_ BERTH_GUARDED_BY(mutex_);
  size_t count_ BERTH_GUARDED_BY(mutex_) = 0;
};

// A folder that is gone with the object. `parent`: where; /tmp unless told.
class TempDir {
 public:
  explicit TempDir(const std::string& parent = "") {
    const std::string base =
        parent.empty() ? std::filesystem::temp_directory_path().string() : parent;
    std::string pattern = base + "/berth-storage-XXXXXX";
    BERTH_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& name, const std::vector<std::byte>& content) const {
    std::ofstream out(File(name), std::ios::binary);
    out.write(reinterpret_cast<const char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
    out.close();
    BERTH_CHECK(out.good());
    return File(name);
  }

 private:
  std::string path_;
};

}  // namespace berth::io

#endif  // BERTH_TESTS_IO_STORAGE_TEST_UTIL_H_
