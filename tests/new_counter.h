// Counts calls of operator new in the whole test program (new_counter.cc replaces it).
#ifndef BERTH_TESTS_NEW_COUNTER_H_
#define BERTH_TESTS_NEW_COUNTER_H_

#include <cstdint>

namespace berth {
// Of all threads, so far.
uint64_t NewCalls();
}  // namespace berth

#endif  // BERTH_TESTS_NEW_COUNTER_H_
