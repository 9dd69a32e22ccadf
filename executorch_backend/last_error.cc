#include "executorch_backend/last_error.h"

#include <executorch/runtime/platform/log.h>

#include <string>

namespace trtscope::executorch_backend {
namespace {

std::string& Message() {
  thread_local std::string message;
  return message;
}

}  // namespace

void Keep(const Status& status) noexcept {
  try {
    Message() = status.message();
  } catch (...) {
    Message().clear();  // no memory for the message; the error's class is left
  }
}

::executorch::runtime::Error Report(const Status& status, Stage stage) noexcept {
  Keep(status);
  ET_LOG(Error, "TensorRTBackend: %s", Message().c_str());
  return ToError(status.code(), stage);
}

const char* LastError() noexcept { return Message().c_str(); }
void ClearLastError() noexcept { Message().clear(); }

}  // namespace trtscope::executorch_backend
