#ifndef TRTSCOPE_CORE_PROFILING_C_CALL_H_
#define TRTSCOPE_CORE_PROFILING_C_CALL_H_

// How every function of the C interface ends: a code and the thread's message, or a text that the
// caller frees.  For whoever adds functions to that interface, in this room or above it.

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace trtscope::profiling {

/// What trtscope_last_error() says next on this thread; cut where its buffer ends.
void SetLastError(std::string_view message) noexcept;

/// Runs `function`, which returns a Status: its code, and its message as the thread's last error.
template <typename Function>
int CCall(Function function) noexcept {
  try {
    SetLastError("");
    const Status status = function();
    if (status.ok()) return 0;
    SetLastError(status.message());
    return static_cast<int>(status.code());
  } catch (const std::exception& e) {
    SetLastError(e.what());
    return static_cast<int>(StatusCode::kInternal);
  }
}

/// Runs `function`, which returns a Result<std::string>: a copy for trtscope_free, or null with the
/// thread's last error set.
template <typename Function>
char* CText(Function function) noexcept {
  char* out = nullptr;
  CCall([&]() -> Status {
    const Result<std::string> text = function();
    if (!text.ok()) return text.status();
    out = static_cast<char*>(std::malloc(text->size() + 1));
    if (out == nullptr) return ResourceExhausted("no memory for a text");
    std::memcpy(out, text->c_str(), text->size() + 1);
    return OkStatus();
  });
  return out;
}

}  // namespace trtscope::profiling

#endif  // TRTSCOPE_CORE_PROFILING_C_CALL_H_
