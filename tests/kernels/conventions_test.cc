// The table of architectures and the grammar that states conventions by hand.
#include <gtest/gtest.h>

#include <string>

#include "kernels/expert/expert_spec.h"

namespace berth::kernels {
namespace {

bool Says(const Status& status, std::string_view what) {
  return status.message().find(what) != std::string_view::npos;
}

TEST(Conventions, OfKnownArchitectures) {
  const auto activation = [](std::string_view name) {
    const auto conventions = ConventionsOf(name);
    EXPECT_TRUE(conventions.ok()) << name;
    return conventions->activation;
  };
  EXPECT_EQ(activation("qwen3moe"), Activation::kSiluGate);
  EXPECT_EQ(activation("llama"), Activation::kSiluGate);
  EXPECT_EQ(activation("deepseek2"), Activation::kSiluGate);
  EXPECT_EQ(activation("gemma4"), Activation::kGeluGate);
  EXPECT_EQ(activation("gpt-oss"), Activation::kClampedGate);
  EXPECT_EQ(activation("smallthinker"), Activation::kReluGate);
  EXPECT_EQ(activation("nemotron_h_moe"), Activation::kSquaredRelu);
  EXPECT_FALSE(ConventionsOf("nemotron_h_moe")->has_gate());
  EXPECT_FLOAT_EQ(ConventionsOf("gpt-oss")->alpha, 1.702f);
  EXPECT_FLOAT_EQ(ConventionsOf("gpt-oss")->limit, 7.0f);
  EXPECT_TRUE(ConventionsOf("gemma4")->gate_first);
  EXPECT_TRUE(ConventionsOf("llama4")->weights_before);
  EXPECT_FALSE(ConventionsOf("llama")->weights_before);
}

TEST(Conventions, OfAnUnknownArchitectureSayWhatToDo) {
  const auto near = ConventionsOf("qwen4moe");
  ASSERT_FALSE(near.ok());
  EXPECT_EQ(near.status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(Says(near.status(), "'qwen4moe'"));
  EXPECT_TRUE(Says(near.status(), "did you mean 'qwen"));
  EXPECT_TRUE(Says(near.status(), "--conventions silu-gate"));
  // A clamp by layer is not one of the activations: better refused than wrong.
  EXPECT_EQ(ConventionsOf("deepseek4").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ConventionsOf("").status().code(), StatusCode::kNotFound);
}

TEST(Conventions, StatedByHand) {
  for (Activation activation :
       {Activation::kSiluGate, Activation::kGeluGate, Activation::kClampedGate,
        Activation::kReluGate, Activation::kSquaredRelu}) {
    const auto conventions = ParseConventions(ActivationName(activation));
    ASSERT_TRUE(conventions.ok());
    EXPECT_EQ(conventions->activation, activation);
    EXPECT_TRUE(conventions->gate_first);
    EXPECT_FALSE(conventions->weights_before);
  }
  const auto up_first = ParseConventions("gelu-gate,up-first");
  ASSERT_TRUE(up_first.ok());
  EXPECT_FALSE(up_first->gate_first);
  const auto clamped = ParseConventions("clamped-gate:alpha=1.5,limit=6,weights-before");
  ASSERT_TRUE(clamped.ok()) << clamped.status().ToString();
  EXPECT_FLOAT_EQ(clamped->alpha, 1.5f);
  EXPECT_FLOAT_EQ(clamped->limit, 6.0f);
  EXPECT_TRUE(clamped->weights_before);
}

TEST(Conventions, RefuseWhatTheyDoNotKnow) {
  for (const char* text :
       {"", ",", "silu", "swiglu", "silu-gate,", "silu-gate,up", "silu-gate,alpha=2",
        "clamped-gate:alpha=", "clamped-gate:alpha=x", "clamped-gate:limit=-1",
        "clamped-gate:limit=nan", "clamped-gate:limit=inf", "clamped-gate:limit=1,limit=2",
        "squared-relu,up-first", "gelu-gate up-first"}) {
    const auto conventions = ParseConventions(text);
    ASSERT_FALSE(conventions.ok()) << text;
    EXPECT_EQ(conventions.status().code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(Says(conventions.status(), "silu-gate, gelu-gate, clamped-gate"));
    EXPECT_EQ(conventions.status().message().find('\n'), std::string_view::npos);
  }
  EXPECT_TRUE(Says(ParseConventions("silu-gats").status(), "did you mean 'silu-gate'"));
  EXPECT_TRUE(Says(ParseConventions("silu-gate,upfirst").status(), "did you mean 'up-first'"));
}

}  // namespace
}  // namespace berth::kernels
