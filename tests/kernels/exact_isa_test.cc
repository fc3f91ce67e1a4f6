// Instruction sets by name, and that what they need is looked at before they are used.
#include <gtest/gtest.h>

#include "kernels/exact/exact_kernels.h"
#include "kernels/exact/isa.h"

namespace berth::kernels {
namespace {

TEST(Isa, NamesAreReadBack) {
  for (const Isa isa : UsableIsas()) {
    const Result<Isa> parsed = ParseIsa(IsaName(isa));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, isa);
  }
  const Result<Isa> wrong = ParseIsa("avx512-vbmj");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find("avx512-vbmi"), std::string::npos)
      << wrong.status().message();
}

TEST(Isa, TheScalarOneIsAlwaysThereAndEachSetNamesItself) {
  ASSERT_FALSE(UsableIsas().empty());
  EXPECT_EQ(UsableIsas().front(), Isa::kScalar);
  EXPECT_EQ(UsableIsas().back(), BestIsa());
  for (const Isa isa : UsableIsas()) EXPECT_EQ(KernelsOf(isa).isa, isa);
}

}  // namespace
}  // namespace berth::kernels
