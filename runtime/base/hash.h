// XXH3, behind two functions and a streaming state: the one place that knows xxHash.
#ifndef BERTH_RUNTIME_BASE_HASH_H_
#define BERTH_RUNTIME_BASE_HASH_H_

#include <cstddef>
#include <cstdint>

struct XXH3_state_s;

namespace berth {

// XXH3-64 of a byte range, seed 0 (the variant that checksums of packs and sidecars use).
uint64_t Hash64(const void* data, size_t bytes);

// The same over several ranges: the result equals Hash64 of their concatenation.
class StreamHash64 {
 public:
  StreamHash64();
  ~StreamHash64();
  StreamHash64(const StreamHash64&) = delete;
  StreamHash64& operator=(const StreamHash64&) = delete;
  void Reset();
  void Update(const void* data, size_t bytes);
  uint64_t Digest() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace berth

#endif  // BERTH_RUNTIME_BASE_HASH_H_
