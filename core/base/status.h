#ifndef TRTSCOPE_CORE_BASE_STATUS_H_
#define TRTSCOPE_CORE_BASE_STATUS_H_

// Status and Result<T>: errors as values.
//
// The neutral rooms and the ExecuTorch half never throw, so that one library serves a runtime
// built with -fno-exceptions.  An OK Status is one null pointer: returning it costs nothing on
// an engine's path.  A message names the engine, tensor or file, what came, and what was
// expected.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace trtscope {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument,     // the caller's value is wrong: fix the call
  kNotFound,            // a file, library, engine or symbol that is not there
  kUnsupported,         // correct, but this implementation cannot do it
  kFailedPrecondition,  // correct, but not now (wrong order, still in flight)
  kDataLoss,            // bytes that do not parse: a truncated or foreign plan or blob
  kResourceExhausted,   // memory, file descriptors
  kInternal,            // a runtime below us failed; its own message is attached
};

/// The code's name as printed in messages, such as "invalid argument".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : rep_(std::make_unique<Rep>(Rep{code, std::move(message)})) {}

  Status(Status&&) = default;
  Status& operator=(Status&&) = default;
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : ""; }

 private:
  struct Rep {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Rep> rep_;
};

inline Status OkStatus() { return Status(); }
inline Status InvalidArgument(std::string m) {
  return Status(StatusCode::kInvalidArgument, std::move(m));
}
inline Status NotFound(std::string m) { return Status(StatusCode::kNotFound, std::move(m)); }
inline Status Unsupported(std::string m) { return Status(StatusCode::kUnsupported, std::move(m)); }
inline Status FailedPrecondition(std::string m) {
  return Status(StatusCode::kFailedPrecondition, std::move(m));
}
inline Status DataLoss(std::string m) { return Status(StatusCode::kDataLoss, std::move(m)); }
inline Status ResourceExhausted(std::string m) {
  return Status(StatusCode::kResourceExhausted, std::move(m));
}
inline Status Internal(std::string m) { return Status(StatusCode::kInternal, std::move(m)); }

/// A value, or the Status that says why there is none.  Reading the value of a failed Result is
/// a programming error and aborts through std::optional's checks in debug builds.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace trtscope

#define TRTSCOPE_CONCAT_INNER(a, b) a##b
#define TRTSCOPE_CONCAT(a, b) TRTSCOPE_CONCAT_INNER(a, b)

/// Returns from the enclosing function with the Status of `expr` unless it is OK.
#define TRTSCOPE_RETURN_IF_ERROR(expr)                                                \
  do {                                                                                \
    if (auto trtscope_status = (expr); !trtscope_status.ok()) return trtscope_status; \
  } while (false)

/// `lhs` takes the value of the Result `expr`, or the enclosing function returns its Status.
#define TRTSCOPE_ASSIGN_OR_RETURN(lhs, expr) \
  TRTSCOPE_ASSIGN_OR_RETURN_IMPL(TRTSCOPE_CONCAT(trtscope_result_, __LINE__), lhs, expr)
#define TRTSCOPE_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                   \
  if (!tmp.ok()) return tmp.status();                  \
  lhs = *std::move(tmp)

#endif  // TRTSCOPE_CORE_BASE_STATUS_H_
