#ifndef TRTSCOPE_EXECUTORCH_BACKEND_LAST_ERROR_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_LAST_ERROR_H_

#include "core/base/status.h"
#include "executorch_backend/convert.h"

namespace trtscope::executorch_backend {

/// Writes the message to ExecuTorch's log, keeps it for LastError of this thread, and gives the
/// error of its class.  The one place where a Status leaves this room.
::executorch::runtime::Error Report(const Status& status, Stage stage) noexcept;

/// Keeps the message alone, of a failure that is the caller's to report.
void Keep(const Status& status) noexcept;

/// The message of this thread's last failure; empty when there was none.
const char* LastError() noexcept;
void ClearLastError() noexcept;

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_LAST_ERROR_H_
