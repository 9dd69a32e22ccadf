#include "core/engine/host/dim_expression.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

namespace trtscope::engine::host {
namespace {

constexpr int kMaxDepth = 64;        // of parentheses and signs: the parser recurses
constexpr size_t kMaxLength = 4096;  // of the text, and so of the work of evaluating it
constexpr int64_t kMaxDim = std::numeric_limits<int32_t>::max();

std::optional<int64_t> FloorDiv(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return std::nullopt;
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<int64_t> FloorMod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

std::optional<int64_t> Power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  int64_t result = 1;
  // A base of 0 or +-1 never overflows: its exponent is cut, keeping its parity.
  if (base >= -1 && base <= 1) exponent = std::min<int64_t>(exponent, 2 + exponent % 2);
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

}  // namespace

class DimExpression::Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> symbols)
      : text_(text), symbols_(symbols) {}

  Status Parse(std::vector<Step>& steps) {
    steps_ = &steps;
    if (text_.size() > kMaxLength) return Bad("is longer than 4096 characters");
    TRTSCOPE_RETURN_IF_ERROR(Sum());
    SkipSpace();
    if (at_ != text_.size()) return Bad("has something after its end");
    return OkStatus();
  }

 private:
  Status Bad(const std::string& what) const {
    return DataLoss("the dimension '" + std::string(text_.substr(0, 100)) + "' " + what +
                    " (at character " + std::to_string(at_) + ")");
  }

  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void Emit(Op op, int64_t value = 0) { steps_->push_back({op, value}); }

  Status Sum() {
    if (++depth_ > kMaxDepth) return Bad("is nested too deep");
    TRTSCOPE_RETURN_IF_ERROR(Product());
    while (true) {
      Op op;
      if (Take("+")) {
        op = Op::kAdd;
      } else if (Take("-")) {
        op = Op::kSub;
      } else {
        break;
      }
      TRTSCOPE_RETURN_IF_ERROR(Product());
      Emit(op);
    }
    --depth_;
    return OkStatus();
  }

  Status Product() {
    TRTSCOPE_RETURN_IF_ERROR(Factor());
    while (true) {
      Op op;
      if (Take("//")) {
        op = Op::kDiv;
      } else if (Take("*")) {
        op = Op::kMul;
      } else if (Take("%")) {
        op = Op::kMod;
      } else {
        return OkStatus();
      }
      TRTSCOPE_RETURN_IF_ERROR(Factor());
      Emit(op);
    }
  }

  // A sign binds weaker than the power to its right: -2**2 is -4.
  Status Factor() {
    if (++depth_ > kMaxDepth) return Bad("is nested too deep");
    if (Take("-")) {
      Emit(Op::kConstant, 0);
      TRTSCOPE_RETURN_IF_ERROR(Factor());
      Emit(Op::kSub);
    } else if (Take("+")) {
      TRTSCOPE_RETURN_IF_ERROR(Factor());
    } else {
      TRTSCOPE_RETURN_IF_ERROR(Atom());
      if (Take("**")) {
        TRTSCOPE_RETURN_IF_ERROR(Factor());
        Emit(Op::kPow);
      }
    }
    --depth_;
    return OkStatus();
  }

  Status Atom() {
    SkipSpace();
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) {
      if (!Take("(")) return Bad("has something that is no number, symbol or parenthesis");
      TRTSCOPE_RETURN_IF_ERROR(Sum());
      return Take(")") ? OkStatus() : Bad("misses a ')'");
    }
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return Number(word);
    std::string_view name = word;
    for (const char* prefix : {"max", "min", "Max", "Min"}) {
      if (name == prefix && Take("(")) return Call(name[1] == 'a' ? Op::kMax : Op::kMin);
    }
    const auto symbol = std::find(symbols_.begin(), symbols_.end(), name);
    if (symbol == symbols_.end()) {
      return Bad("has the symbol '" + std::string(name) + "', which is no dimension of an input");
    }
    Emit(Op::kSymbol, symbol - symbols_.begin());
    return OkStatus();
  }

  Status Number(std::string_view word) {
    int64_t value = 0;
    for (char c : word) {
      if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, c - '0', &value)) {
        return Bad("has '" + std::string(word) + "', which is no integer");
      }
    }
    Emit(Op::kConstant, value);
    return OkStatus();
  }

  Status Call(Op op) {
    TRTSCOPE_RETURN_IF_ERROR(Sum());
    while (Take(",")) {
      TRTSCOPE_RETURN_IF_ERROR(Sum());
      Emit(op);
    }
    return Take(")") ? OkStatus() : Bad("misses a ')'");
  }

  const std::string_view text_;
  const std::span<const std::string> symbols_;
  std::vector<Step>* steps_ = nullptr;
  size_t at_ = 0;
  int depth_ = 0;
};

Result<DimExpression> DimExpression::Parse(std::string_view text,
                                           std::span<const std::string> symbols) {
  DimExpression expression;
  Parser parser(text, symbols);
  TRTSCOPE_RETURN_IF_ERROR(parser.Parse(expression.steps_));
  return expression;
}

Result<int64_t> DimExpression::Evaluate(std::span<const int64_t> values) const {
  std::vector<int64_t> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::kConstant) {
      stack.push_back(step.value);
      continue;
    }
    if (step.op == Op::kSymbol) {
      stack.push_back(values[static_cast<size_t>(step.value)]);
      continue;
    }
    const int64_t b = stack.back();
    stack.pop_back();
    int64_t& a = stack.back();
    std::optional<int64_t> result = 0;
    switch (step.op) {
      case Op::kAdd:
        if (__builtin_add_overflow(a, b, &*result)) result.reset();
        break;
      case Op::kSub:
        if (__builtin_sub_overflow(a, b, &*result)) result.reset();
        break;
      case Op::kMul:
        if (__builtin_mul_overflow(a, b, &*result)) result.reset();
        break;
      case Op::kDiv:
        result = FloorDiv(a, b);
        break;
      case Op::kMod:
        result = FloorMod(a, b);
        break;
      case Op::kPow:
        result = Power(a, b);
        break;
      case Op::kMax:
        result = std::max(a, b);
        break;
      case Op::kMin:
        result = std::min(a, b);
        break;
      default:
        result.reset();
        break;
    }
    if (!result) {
      return InvalidArgument("it divides by zero, overflows or has a negative power");
    }
    a = *result;
  }
  const int64_t dim = stack.back();
  if (dim < 0 || dim > kMaxDim) {
    return InvalidArgument("it comes to " + std::to_string(dim) + ", which is no size");
  }
  return dim;
}

}  // namespace trtscope::engine::host
