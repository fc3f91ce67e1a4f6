#include "tests/runtime/session_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/run/inputs.h"
#include "tests/runtime/small_model.h"

namespace berth::testing {

Work::Work(uint32_t number) : layer(number % kLayers), rows(1 + number / kLayers % kWorkRows) {
  uint64_t state = 77'000 + 100ull * number;
  for (uint32_t row = 0; row < rows; ++row) {
    const size_t first = ids.size();
    while (ids.size() < first + kTopK) {
      const auto id = static_cast<int32_t>(ScatterBits(state++) % kExperts);
      if (std::find(ids.begin() + static_cast<ptrdiff_t>(first), ids.end(), id) == ids.end()) {
        ids.push_back(id);
      }
    }
  }
  if (number % 5 == 4) ids[1] = kNoExpert;
  for (size_t i = 0; i < ids.size(); ++i) {
    weights.push_back(static_cast<float>(ScatterBits(state++) >> 40) * 0x1p-24f);
  }
  x.resize(size_t{rows} * kHidden);
  for (uint32_t row = 0; row < rows; ++row) {
    FillInput(5, number * 10 + row, layer, kHidden, &x[size_t{row} * kHidden]);
  }
  y.resize(x.size());
}

Step Work::Prepare(uint64_t pass) {
  std::fill(y.begin(), y.end(), std::numeric_limits<float>::quiet_NaN());
  Step step;
  step.layer = layer;
  step.rows = rows;
  step.x = x.data();
  step.ids = ids.data();
  step.weights = weights.data();
  step.y = y.data();
  step.pass = pass;
  return step;
}

bool Work::Uses(UnitRef unit) const {
  return unit.layer == layer &&
         std::find(ids.begin(), ids.end(), static_cast<int32_t>(unit.expert)) != ids.end();
}

const std::vector<std::vector<float>>& ExpectedOutputs(uint32_t count) {
  static std::vector<std::vector<float>> outputs;
  if (outputs.size() >= count) return outputs;
  const auto runtime = OpenRuntime(SessionOptionsOf(SmallModel::Get().gguf, 64u << 20));
  BERTH_CHECK_MSG(runtime.ok(), runtime.status().ToString().c_str());
  const auto session = (*runtime)->NewSession();
  BERTH_CHECK(session.ok());
  while (outputs.size() < count) {
    Work work(static_cast<uint32_t>(outputs.size()));
    const auto ticket = (*session)->Enqueue(work.Prepare());
    BERTH_CHECK(ticket.ok() && (*session)->Wait(*ticket).ok());
    outputs.push_back(work.y);
  }
  return outputs;
}

RuntimeOptions SessionOptionsOf(const std::string& model, uint64_t arena_bytes) {
  RuntimeOptions options = Resident(model).runtime;
  options.cards[0].arena_bytes = arena_bytes;
  options.chunk = 2;
  options.max_rows = kWorkRows;
  return options;
}

std::vector<std::byte> CardImage(const Catalog& catalog, UnitIndex unit) {
  std::vector<std::byte> image;
  for (const Extent& extent : catalog.extents(unit)) {
    image.resize(std::max<size_t>(image.size(), extent.card_offset + extent.bytes));
    std::ifstream file(catalog.files()[extent.file].path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(extent.offset));
    file.read(reinterpret_cast<char*>(&image[extent.card_offset]), extent.bytes);
    EXPECT_TRUE(file.good());
  }
  return image;
}

}  // namespace berth::testing
