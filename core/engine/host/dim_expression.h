#ifndef TRTSCOPE_CORE_ENGINE_HOST_DIM_EXPRESSION_H_
#define TRTSCOPE_CORE_ENGINE_HOST_DIM_EXPRESSION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace trtscope::engine::host {

/// A dimension of an output as arithmetic over dimensions of inputs: "2*s77 + 1".  It knows
/// integers, symbols, + - * // % ** (as Python means them), max(...), min(...) and parentheses,
/// which is what exporters write.
class DimExpression {
 public:
  /// A constant.
  explicit DimExpression(int64_t value) : steps_{{Op::kConstant, value}} {}
  /// `symbols` are the names that may occur; their order is that of Evaluate's values.
  static Result<DimExpression> Parse(std::string_view text, std::span<const std::string> symbols);

  /// The dimension, when symbol i is values[i].  Refused where the result is not a size (negative,
  /// over 2^31 - 1), and where it divides by zero or overflows on the way.
  Result<int64_t> Evaluate(std::span<const int64_t> values) const;

 private:
  enum class Op : uint8_t { kConstant, kSymbol, kAdd, kSub, kMul, kDiv, kMod, kPow, kMax, kMin };
  struct Step {
    Op op;
    int64_t value = 0;  // the constant, or the symbol's index
  };
  class Parser;

  DimExpression() = default;

  std::vector<Step> steps_;  // postfix
};

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_DIM_EXPRESSION_H_
