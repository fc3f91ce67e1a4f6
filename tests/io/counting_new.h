// A program that links counting_new.cc counts its calls of operator new.
#ifndef BERTH_TESTS_IO_COUNTING_NEW_H_
#define BERTH_TESTS_IO_COUNTING_NEW_H_

#include <cstdint>

namespace berth::io {

uint64_t AllocationCount();

}  // namespace berth::io

#endif  // BERTH_TESTS_IO_COUNTING_NEW_H_
