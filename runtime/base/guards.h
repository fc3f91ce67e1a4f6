// Guards: the places where one forgotten condition would hand out wrong bytes, and how tests take
// them away one at a time to see that the fault driver notices.
//
// BERTH_BROKEN(kGuard) is `false` and nothing else in the product. Tests link a second build of the
// same sources, compiled with BERTH_BREAKABLE, in which one guard at a time can be broken.
#ifndef BERTH_RUNTIME_BASE_GUARDS_H_
#define BERTH_RUNTIME_BASE_GUARDS_H_

#ifdef BERTH_BREAKABLE
#include <cstdint>

namespace berth {

enum class Guard : uint8_t {
  kNone,
  kPublishAfterCopy,       // broken: a table entry points at bytes that are still to come
  kFreeAfterUpdate,        // a slot takes new bytes while a table may still point at it
  kReuseAfterReaders,      // a slot takes new bytes while somebody reads it
  kKeepOwnUnits,           // a step evicts a unit that it routes to
  kKeepLeased,             // anybody evicts a unit that is leased
  kDropUncertainSlot,      // a slot whose table update failed is used again
  kRetry,                  // a read that came in part is taken for whole
  kForgetFailed,           // a unit whose transfer failed stays listed and is never read again
  kCountEveryCompletion,   // an answer is dropped
  kIgnoreCompletionOrder,  // a place is chosen by what happens to be done
  kComputeAfterRead,       // the host computes a unit whose bytes are still to come
  kKeepWhileComputed,      // a host slot takes new bytes while the host computes from it
};
// The guard that is broken now, process-wide: tests break one in a process of its own.
inline Guard broken_guard = Guard::kNone;

}  // namespace berth

#define BERTH_BROKEN(guard) (::berth::broken_guard == ::berth::Guard::guard)
#else
#define BERTH_BROKEN(guard) false
#endif

#endif  // BERTH_RUNTIME_BASE_GUARDS_H_
