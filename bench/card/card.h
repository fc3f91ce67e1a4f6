// A card as benchmarks of kernels see it: below kernels/device.h, where launches can be captured
// and timed one by one. Built for each vendor's card and for the emulated one.
#ifndef BERTH_BENCH_CARD_CARD_H_
#define BERTH_BENCH_CARD_CARD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/status.h"
#include "kernels/gpu/vendor.h"

namespace berth::bench {

struct CardInfo {
  std::string name;
  int ordinal = 0;
  uint32_t processors = 0;
  double peak_bytes_per_s = 0;  // of its memory, by clock and width; 0: unknown
};
// Makes the card the calling thread's own and loads every kernel of grouped calls. Unavailable or
// NotFound where there is no such card.
Result<CardInfo> OpenCard(int ordinal);
// For another thread of the same card.
Status UseCard(const CardInfo& card);

// Memory that the card reads and writes: its own, or the host's, mapped. Move-only.
class CardMemory {
 public:
  CardMemory() = default;
  static Result<CardMemory> Allocate(size_t bytes, std::string_view purpose);
  static Result<CardMemory> AllocateMapped(size_t bytes, std::string_view purpose);
  CardMemory(CardMemory&& other) noexcept { *this = std::move(other); }
  CardMemory& operator=(CardMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(host_, other.host_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~CardMemory();

  std::byte* data() const { return data_; }  // the card's address, 256-aligned
  std::byte* host() const { return host_; }  // the host's address of mapped memory, else null
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::byte* host_ = nullptr;
  size_t bytes_ = 0;
};

// A stream, and copies on it that are over when they return. Move-only.
class CardStream {
 public:
  CardStream() = default;
  static Result<CardStream> Create();
  CardStream(CardStream&& other) noexcept { *this = std::move(other); }
  CardStream& operator=(CardStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~CardStream();

  gpuStream_t get() const { return stream_; }
  Status Synchronize() const;
  Status ToCard(void* to, const void* from, size_t bytes) const;
  Status ToHost(void* to, const void* from, size_t bytes) const;
  Status Fill(void* to, uint8_t byte, size_t bytes) const;

 private:
  gpuStream_t stream_ = {};
};

// Card memory with these values in it.
template <typename T>
Result<CardMemory> Upload(const CardStream& stream, const std::vector<T>& values,
                          std::string_view purpose) {
  const size_t bytes = values.size() * sizeof(T);
  BERTH_ASSIGN_OR_RETURN(CardMemory memory, CardMemory::Allocate(bytes, purpose));
  if (bytes > 0) BERTH_RETURN_IF_ERROR(stream.ToCard(memory.data(), values.data(), bytes));
  return memory;
}

}  // namespace berth::bench

#endif  // BERTH_BENCH_CARD_CARD_H_
