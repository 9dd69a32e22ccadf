#include "executorch_backend/cuda_allocator.h"

#include <string>

#include "core/device/device.h"
#include "executorch_backend/caller_stream.h"
#include "executorch_backend/convert.h"
#include "executorch_backend/last_error.h"

namespace trtscope::executorch_backend {
namespace {

namespace et = ::executorch::runtime;
using device::CopyKind;
using device::DeviceType;

// What CUDA's allocator gives at least.
constexpr size_t kAlignment = 256;

Result<device::Device*> Gpu(et::etensor::DeviceIndex index) {
  return device::GetDevice(FromExecuTorch({et::etensor::DeviceType::CUDA, index}));
}

Result<void*> Allocate(size_t bytes, et::etensor::DeviceIndex index, size_t alignment) {
  if (alignment > kAlignment) {
    return InvalidArgument("memory of cuda:" + std::to_string(index) + ": an alignment of " +
                           std::to_string(alignment) + " octets was asked for; CUDA gives " +
                           std::to_string(kAlignment));
  }
  TRTSCOPE_ASSIGN_OR_RETURN(device::Device * gpu, Gpu(index));
  return gpu->Allocate(bytes);
}

Status TryCopy(void* to, const void* from, size_t bytes, CopyKind kind,
               et::etensor::DeviceIndex index) {
  if (bytes == 0) return OkStatus();
  TRTSCOPE_ASSIGN_OR_RETURN(device::Device * gpu, Gpu(index));
  const device::StreamRef stream =
      CallerStream().value_or(device::StreamRef{DeviceType::kCuda, nullptr});
  TRTSCOPE_RETURN_IF_ERROR(gpu->CopyAsync(to, from, bytes, kind, stream));
  return gpu->Synchronize(stream);
}

et::Error Copy(void* to, const void* from, size_t bytes, CopyKind kind,
               et::etensor::DeviceIndex index) {
  const Status status = TryCopy(to, from, bytes, kind, index);
  return status.ok() ? et::Error::Ok : Report(status, Stage::kExecute);
}

}  // namespace

et::Result<void*> CudaAllocator::allocate(size_t nbytes, et::etensor::DeviceIndex index,
                                          size_t alignment) {
  Result<void*> data = Allocate(nbytes, index, alignment);
  if (!data.ok()) return Report(data.status(), Stage::kExecute);
  return *data;
}

void CudaAllocator::deallocate(void* data, et::etensor::DeviceIndex index) {
  // Without the device there was no allocation either.
  if (Result<device::Device*> gpu = Gpu(index); gpu.ok()) (*gpu)->Free(data);
}

et::Error CudaAllocator::copy_host_to_device(void* to, const void* from, size_t nbytes,
                                             et::etensor::DeviceIndex index) {
  return Copy(to, from, nbytes, CopyKind::kHostToDevice, index);
}

et::Error CudaAllocator::copy_device_to_host(void* to, const void* from, size_t nbytes,
                                             et::etensor::DeviceIndex index) {
  return Copy(to, from, nbytes, CopyKind::kDeviceToHost, index);
}

void RegisterCudaAllocator() {
  static CudaAllocator allocator;
  if (et::get_device_allocator(allocator.device_type()) == nullptr) {
    et::register_device_allocator(&allocator);
  }
}

}  // namespace trtscope::executorch_backend
