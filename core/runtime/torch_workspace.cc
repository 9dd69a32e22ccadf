#include "core/runtime/torch_workspace.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <string>

#include "core/runtime/tensor_bridge.h"

namespace trtscope::runtime {

Result<void*> TorchWorkspace::Reserve(size_t bytes, device::StreamRef) {
  try {
    block_.reset();  // the allocator may hand the same memory out again
    block_ = EmptyTensor({static_cast<int64_t>(bytes)}, engine::DataType::kUInt8, device_);
    return block_.data_ptr();
  } catch (const std::exception& error) {
    return ResourceExhausted("cannot allocate " + std::to_string(bytes) +
                             " octets of engine workspace on " + ToString(device_) + ": " +
                             error.what());
  }
}

Status TorchWorkspace::UseOn(device::StreamRef) {
  if (!block_.defined()) return OkStatus();
  try {
    const c10::Device device = ToTorch(device_);
    block_.record_stream(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    return OkStatus();
  } catch (const std::exception& error) {
    return Internal(std::string("torch cannot record the use of a stream: ") + error.what());
  }
}

}  // namespace trtscope::runtime
