#include "core/engine/host/dim_expression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trtscope::engine::host {
namespace {

const std::vector<std::string> kSymbols = {"s0", "s77", "max_len"};

Result<int64_t> Evaluate(std::string_view text, std::vector<int64_t> values = {7, 3, 100}) {
  Result<DimExpression> expression = DimExpression::Parse(text, kSymbols);
  if (!expression.ok()) return expression.status();
  return expression->Evaluate(values);
}

TEST(DimExpression, ComputesAsPythonDoes) {
  const std::pair<const char*, int64_t> cases[] = {
      {"5", 5},
      {"s0", 7},
      {"s77 + 2*s0", 17},
      {"(s77 + 2)*s0", 35},
      {"s0 - s77 - 1", 3},
      {"100 // s0 // 2", 7},
      {"-s0 // 2 + 10", 6},  // floor(-3.5) is -4
      {"(-s0) % 4", 1},      // the sign of the divisor
      {"s0 % -4 + 4", 3},
      {"2**3**2", 512},  // right to left
      {"10 - 2**2", 6},
      {"-2**2 + 5", 1},
      {"--s0", 7},
      {"+s0", 7},
      {"max(1, s0, s77)", 7},
      {"min(s0, s77, 5)", 3},
      {"Max(1, Min(s0, 4))", 4},
      {"max_len", 100},
      {"  ( ( s0 ) )  ", 7},
      {"(-1)**9223372036854775807 + 1", 0},
      {"0**0", 1},
      {"2147483647", 2147483647},
  };
  for (const auto& [text, expected] : cases) {
    Result<int64_t> value = Evaluate(text);
    ASSERT_TRUE(value.ok()) << text << ": " << value.status().message();
    EXPECT_EQ(*value, expected) << text;
  }
}

TEST(DimExpression, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"", "s1", "s0 +", "s0 s77", "(s0", "s0)", "1.5", "s0/2", "max()", "max(s0", "abs(s0)",
        "99999999999999999999", "s0 & 1", "5x", "*", "s0,"}) {
    Result<DimExpression> expression = DimExpression::Parse(text, kSymbols);
    ASSERT_FALSE(expression.ok()) << text;
    EXPECT_EQ(expression.status().code(), StatusCode::kDataLoss) << text;
  }
}

TEST(DimExpression, RefusesDeepAndLongText) {
  const std::string open(10'000, '('), minus(4000, '-'), nested(1000, '(');
  for (const std::string& text : {open, minus + "1", nested + "1" + std::string(1000, ')')}) {
    EXPECT_FALSE(DimExpression::Parse(text, kSymbols).ok());
  }
}

TEST(DimExpression, RefusesWhatIsNoSize) {
  for (const char* text : {"s0 // (s77 - 3)", "s0 % 0", "s77 - s0", "2147483648", "2**63", "2**-1",
                           "9223372036854775807 + 1", "-9223372036854775807 - 2",
                           "9223372036854775807 * 2", "(-9223372036854775807 - 1) // -1"}) {
    Result<int64_t> value = Evaluate(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(*Evaluate("(-9223372036854775807 - 1) % -1"), 0);
}

TEST(DimExpression, Constants) { EXPECT_EQ(*DimExpression(12).Evaluate({}), 12); }

}  // namespace
}  // namespace trtscope::engine::host
