#ifndef TRTSCOPE_EXECUTORCH_BACKEND_CALLER_STREAM_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_CALLER_STREAM_H_

#include <optional>

#include "core/device/device.h"

namespace trtscope::executorch_backend {

/// The stream on which this thread's calls enqueue their work, when its owner waits for it: calls
/// may then return before the work is done.  ExecuTorch's wheel has no way to say so itself.
/// Without one, calls use the device's default stream and wait.
std::optional<device::StreamRef>& CallerStream();

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_CALLER_STREAM_H_
