// Steps for the tests of sessions: any number of them, each with inputs and routing of its own, and
// what comes out of them when one session runs them one after the other with everything resident.
#ifndef BERTH_TESTS_RUNTIME_SESSION_WORK_H_
#define BERTH_TESTS_RUNTIME_SESSION_WORK_H_

#include <cstdint>
#include <vector>

#include "berth/runtime.h"
#include "runtime/catalog/catalog.h"

namespace berth::testing {

inline constexpr uint32_t kWorkRows = 3;  // of a step at most

// One step with its buffers; y is NaN until it was written.
struct Work {
  explicit Work(uint32_t number);
  Step Prepare(uint64_t pass = 0);  // poisons y
  bool Uses(UnitRef unit) const;

  uint32_t layer = 0;
  uint32_t rows = 0;
  std::vector<int32_t> ids;
  std::vector<float> weights, x, y;
};

// y of works 0 to count - 1, of the small model in one file.
const std::vector<std::vector<float>>& ExpectedOutputs(uint32_t count);

// Options of the small model for sessions that run works.
RuntimeOptions SessionOptionsOf(const std::string& model, uint64_t arena_bytes);

// A unit's bytes as a card has them, read from the file without the library's reads.
std::vector<std::byte> CardImage(const Catalog& catalog, UnitIndex unit);

}  // namespace berth::testing

#endif  // BERTH_TESTS_RUNTIME_SESSION_WORK_H_
