// AlignedBuffer: a fixed number of plain values, zeroed, at a multiple of 64 bytes.
#ifndef BERTH_RUNTIME_BASE_ALIGNED_BUFFER_H_
#define BERTH_RUNTIME_BASE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace berth {

template <typename T>
class AlignedBuffer {
 public:
  static_assert(std::is_trivial_v<T>);
  static constexpr std::align_val_t kAlignment{64};

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size)
      : data_(static_cast<T*>(::operator new(size * sizeof(T), kAlignment))), size_(size) {
    std::memset(static_cast<void*>(data_.get()), 0, bytes());
  }

  T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  struct Free {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<T[], Free> data_;
  size_t size_ = 0;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_ALIGNED_BUFFER_H_
