#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_LOG_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_LOG_H_

// What TensorRT says.  Its errors are attached to the Status of the call that failed; the rest is
// printed only where TRTSCOPE_TENSORRT_LOG asks for it ("error", "warning", "info", "verbose";
// any other value means "warning").

#include <cstdint>
#include <string>
#include <string_view>

namespace trtscope::engine::tensorrt {

/// One message of a library named `label`.  `severity` is abi::Severity.  Thread-safe.
void HandleLog(std::string_view label, int32_t severity, std::string_view message);

/// Collects the errors that are logged while it lives: those of its own thread, and those of
/// threads that have no capture of their own (TensorRT's workers).  Nests: the inner one collects.
/// On the stack of one thread.  Costs two thread-local stores and one load when nothing is logged.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The messages in one line, joined by "; "; empty when there were none.
  std::string Text() const;
  /// "; TensorRT said: ..." to put behind a message, or nothing.
  std::string Suffix() const;

 private:
  friend void HandleLog(std::string_view, int32_t, std::string_view);
  LogCapture* outer_;
  uint64_t first_stray_;
  std::string text_;
};

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_LOG_H_
