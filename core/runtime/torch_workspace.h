#ifndef TRTSCOPE_CORE_RUNTIME_TORCH_WORKSPACE_H_
#define TRTSCOPE_CORE_RUNTIME_TORCH_WORKSPACE_H_

#include <ATen/core/Tensor.h>

#include "core/engine/workspace.h"

namespace trtscope::runtime {

/// Scratch memory from torch's caching allocator, so that it counts among torch's own and returns
/// to it.  The allocator keeps a block back until the streams that it was used on are past it.
class TorchWorkspace final : public engine::Workspace {
 public:
  explicit TorchWorkspace(device::DeviceId device) : device_(device) {}
  Result<void*> Reserve(size_t bytes, device::StreamRef stream) override;
  /// `stream` must be the thread's current one, as it is in a call.
  Status UseOn(device::StreamRef stream) override;

 private:
  device::DeviceId device_;
  at::Tensor block_;
};

}  // namespace trtscope::runtime

#endif  // TRTSCOPE_CORE_RUNTIME_TORCH_WORKSPACE_H_
