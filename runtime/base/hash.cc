#include "runtime/base/hash.h"

#include <xxhash.h>

#include "runtime/base/check.h"

namespace berth {

uint64_t Hash64(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

StreamHash64::StreamHash64() : state_(XXH3_createState()) {
  BERTH_CHECK_MSG(state_ != nullptr, "out of memory");
  Reset();
}
StreamHash64::~StreamHash64() { XXH3_freeState(state_); }
void StreamHash64::Reset() { XXH3_64bits_reset(state_); }
void StreamHash64::Update(const void* data, size_t bytes) {
  XXH3_64bits_update(state_, data, bytes);
}
uint64_t StreamHash64::Digest() const { return XXH3_64bits_digest(state_); }

}  // namespace berth
