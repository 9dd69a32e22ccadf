#include "executorch_backend/caller_stream.h"

namespace trtscope::executorch_backend {

std::optional<device::StreamRef>& CallerStream() {
  thread_local std::optional<device::StreamRef> stream;
  return stream;
}

}  // namespace trtscope::executorch_backend
