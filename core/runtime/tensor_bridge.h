#ifndef TRTSCOPE_CORE_RUNTIME_TENSOR_BRIDGE_H_
#define TRTSCOPE_CORE_RUNTIME_TENSOR_BRIDGE_H_

// Between torch's tensors, devices and streams and the engine's.

#include <ATen/core/Tensor.h>

#include <optional>

#include "core/device/device.h"
#include "core/engine/tensor.h"

namespace trtscope::runtime {

std::optional<engine::DataType> FromTorch(c10::ScalarType type);
/// Raises c10::Error for types that torch does not have.
c10::ScalarType ToTorch(engine::DataType type);

/// Nullopt for a device that no engine runs on, such as meta.
std::optional<device::DeviceId> FromTorch(c10::Device device);
c10::Device ToTorch(device::DeviceId id);

/// A dense tensor of this shape, uninitialised.  On the CPU without a trip through torch's
/// dispatcher, which costs more than the allocation itself.
at::Tensor EmptyTensor(const engine::Dims& shape, engine::DataType type, device::DeviceId device);

/// The caller's current stream on `device`; on the host, the calling thread.
device::StreamRef CurrentStream(device::DeviceId device);

}  // namespace trtscope::runtime

#endif  // TRTSCOPE_CORE_RUNTIME_TENSOR_BRIDGE_H_
