#ifndef TRTSCOPE_EXECUTORCH_BACKEND_CUDA_ALLOCATOR_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_CUDA_ALLOCATOR_H_

#include <executorch/runtime/core/device_allocator.h>

namespace trtscope::executorch_backend {

/// Memory of GPUs for ExecuTorch, which has none of its own: the buffers that a program planned
/// for `target_device`, and the copies (et_copy kernels) between them and the host.
///
/// Copies are ordered on the caller's stream (caller_stream.h), or else on the default stream, and
/// are complete when they return: the next kernel may be one of the host.  CUDA is opened by the
/// first call.  Thread-safe.  Errors go to ExecuTorch's log and to LastError of the thread.
class CudaAllocator final : public ::executorch::runtime::DeviceAllocator {
 public:
  ::executorch::runtime::Result<void*> allocate(size_t nbytes,
                                                ::executorch::runtime::etensor::DeviceIndex index,
                                                size_t alignment = kDefaultAlignment) override;
  void deallocate(void* data, ::executorch::runtime::etensor::DeviceIndex index) override;
  ::executorch::runtime::Error copy_host_to_device(
      void* to, const void* from, size_t nbytes,
      ::executorch::runtime::etensor::DeviceIndex index) override;
  ::executorch::runtime::Error copy_device_to_host(
      void* to, const void* from, size_t nbytes,
      ::executorch::runtime::etensor::DeviceIndex index) override;
  ::executorch::runtime::etensor::DeviceType device_type() const override {
    return ::executorch::runtime::etensor::DeviceType::CUDA;
  }
};

/// Registers one for CUDA unless another library has: ExecuTorch takes one and aborts on a second.
void RegisterCudaAllocator();

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_CUDA_ALLOCATOR_H_
