// What tests that count by hand share: steps on a driver that answers at once, and a clean end.
#ifndef BERTH_TESTS_SCHEDULER_BY_HAND_H_
#define BERTH_TESTS_SCHEDULER_BY_HAND_H_

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/scheduler/fake_driver.h"

namespace berth::scheduler {

inline std::vector<int32_t> Range(int32_t first, int32_t count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// How many of [first, first + count) have a slot.
inline uint32_t Resident(FakeDriver& driver, UnitIndex first, uint32_t count = 1) {
  uint32_t n = 0;
  for (UnitIndex u = first; u < first + count; ++u) {
    n += driver.core().Find(u).slot != kNoSlot ? 1 : 0;
  }
  return n;
}

inline void Do(FakeDriver* driver, uint32_t layer, const std::vector<int32_t>& ids) {
  ASSERT_TRUE(driver->Step(layer, ids).ok());
  driver->AnswerAll();
}

// Every test ends here.
inline void ExpectClean(FakeDriver* driver, bool exact = true) {
  driver->AnswerAll();
  driver->CheckQuiet(exact);
  EXPECT_EQ(driver->error(), "");
}

}  // namespace berth::scheduler

#endif  // BERTH_TESTS_SCHEDULER_BY_HAND_H_
