#ifndef TRTSCOPE_CORE_DEVICE_REGISTRY_H_
#define TRTSCOPE_CORE_DEVICE_REGISTRY_H_

#include "core/device/device.h"

namespace trtscope::device {

/// The device with this index, made on the first call for it.  Thread-safe.  The device lives as
/// long as the process.
using DeviceFactory = Result<Device*> (*)(int index);

/// Says who makes CUDA devices.  core/device/cuda calls it from a static initializer, so that a
/// program without that library still links and says what is missing.  The last call wins.
/// Thread-safe.
void RegisterCudaFactory(DeviceFactory factory);

}  // namespace trtscope::device

#endif  // TRTSCOPE_CORE_DEVICE_REGISTRY_H_
