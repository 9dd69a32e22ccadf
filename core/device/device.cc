#include "core/device/device.h"

#include <atomic>

#include "core/device/registry.h"

namespace trtscope::device {
namespace {

// Constant-initialized: registering from another file's static initializer is safe in any order.
std::atomic<DeviceFactory> cuda_factory{nullptr};

}  // namespace

std::string ToString(DeviceId id) {
  if (id.type == DeviceType::kHost && id.index == 0) return "host";
  return (id.type == DeviceType::kHost ? "host:" : "cuda:") + std::to_string(id.index);
}

void RegisterCudaFactory(DeviceFactory factory) {
  cuda_factory.store(factory, std::memory_order_release);
}

Result<Device*> GetDevice(DeviceId id) {
  if (id.type == DeviceType::kHost) {
    if (id.index == 0) return &Host();
    return NotFound("device '" + ToString(id) + "': there is one host device, with index 0");
  }
  if (id.index < 0) {
    return InvalidArgument("device '" + ToString(id) + "': an index of a device is not negative");
  }
  DeviceFactory factory = cuda_factory.load(std::memory_order_acquire);
  if (factory == nullptr) {
    return NotFound("device '" + ToString(id) +
                    "': this build has no CUDA support (core/device/cuda is not linked in)");
  }
  return factory(id.index);
}

}  // namespace trtscope::device
