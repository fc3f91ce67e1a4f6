// Counts the calls of operator new of a test program that links allocation_counter.cc. The
// replacement has a file of its own because compilers that see through it mistake it for a
// mismatched pair.
#ifndef BERTH_TESTS_POLICIES_ALLOCATION_COUNTER_H_
#define BERTH_TESTS_POLICIES_ALLOCATION_COUNTER_H_

#include <cstddef>

namespace berth::policies {

size_t AllocationCount();

}  // namespace berth::policies

#endif  // BERTH_TESTS_POLICIES_ALLOCATION_COUNTER_H_
