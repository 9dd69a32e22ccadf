#include "core/runtime/tensor_bridge.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty_ops.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

namespace trtscope::runtime {

using engine::DataType;

std::optional<DataType> FromTorch(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return DataType::kFloat32;
    case c10::ScalarType::Half:
      return DataType::kFloat16;
    case c10::ScalarType::BFloat16:
      return DataType::kBFloat16;
    case c10::ScalarType::Double:
      return DataType::kFloat64;
    case c10::ScalarType::Char:
      return DataType::kInt8;
    case c10::ScalarType::Byte:
      return DataType::kUInt8;
    case c10::ScalarType::Short:
      return DataType::kInt16;
    case c10::ScalarType::Int:
      return DataType::kInt32;
    case c10::ScalarType::Long:
      return DataType::kInt64;
    case c10::ScalarType::Bool:
      return DataType::kBool;
    case c10::ScalarType::Float8_e4m3fn:
      return DataType::kFloat8E4M3;
    case c10::ScalarType::Float8_e8m0fnu:
      return DataType::kFloat8E8M0;
    default:
      return std::nullopt;
  }
}

c10::ScalarType ToTorch(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return c10::ScalarType::Float;
    case DataType::kFloat16:
      return c10::ScalarType::Half;
    case DataType::kBFloat16:
      return c10::ScalarType::BFloat16;
    case DataType::kFloat64:
      return c10::ScalarType::Double;
    case DataType::kInt8:
      return c10::ScalarType::Char;
    case DataType::kUInt8:
      return c10::ScalarType::Byte;
    case DataType::kInt16:
      return c10::ScalarType::Short;
    case DataType::kInt32:
      return c10::ScalarType::Int;
    case DataType::kInt64:
      return c10::ScalarType::Long;
    case DataType::kBool:
      return c10::ScalarType::Bool;
    case DataType::kFloat8E4M3:
      return c10::ScalarType::Float8_e4m3fn;
    case DataType::kFloat8E8M0:
      return c10::ScalarType::Float8_e8m0fnu;
    case DataType::kInt4:
    case DataType::kFloat4:
      break;
  }
  TORCH_CHECK(false, "torch has no tensors of the engine's type ", engine::Name(type));
}

std::optional<device::DeviceId> FromTorch(c10::Device device) {
  if (device.is_cpu()) return device::DeviceId{device::DeviceType::kHost, 0};
  if (device.is_cuda()) return device::DeviceId{device::DeviceType::kCuda, device.index()};
  return std::nullopt;
}

c10::Device ToTorch(device::DeviceId id) {
  if (id.type == device::DeviceType::kHost) return c10::Device(c10::kCPU);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(id.index));
}

at::Tensor EmptyTensor(const engine::Dims& shape, DataType type, device::DeviceId device) {
  const c10::IntArrayRef sizes(shape.d.data(), static_cast<size_t>(shape.rank));
  if (device.type == device::DeviceType::kHost) {
    return at::detail::empty_cpu(sizes, ToTorch(type));
  }
  // Straight to CUDA's kernel: choosing it by the options first costs a second dispatch.
  return at::_ops::empty_memory_format::redispatch(
      c10::DispatchKeySet(c10::DispatchKey::CUDA), c10::fromIntArrayRefSlow(sizes), ToTorch(type),
      c10::kStrided, ToTorch(device), /*pin_memory=*/false, /*memory_format=*/std::nullopt);
}

namespace {

using CurrentCudaStream = AOTITorchError (*)(int32_t, void**);

// torch's CUDA half may not be there; its C shim is found at run time, so that one library serves
// torch with CUDA and without.  Python opens torch's libraries out of the global scope, so it is
// asked by name, and only if it is loaded already.
CurrentCudaStream FindCurrentCudaStream() {
  void* const torch_cuda = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<CurrentCudaStream>(dlsym(
      torch_cuda != nullptr ? torch_cuda : RTLD_DEFAULT, "aoti_torch_get_current_cuda_stream"));
}

}  // namespace

device::StreamRef CurrentStream(device::DeviceId device) {
  if (device.type == device::DeviceType::kHost) return {};
  static const CurrentCudaStream current_cuda_stream = FindCurrentCudaStream();
  TORCH_CHECK(current_cuda_stream != nullptr, "this torch has no CUDA: an engine on ",
              ToString(device), " cannot run with it");
  device::StreamRef stream{device::DeviceType::kCuda, nullptr};
  TORCH_CHECK(current_cuda_stream(device.index, &stream.handle) == AOTI_TORCH_SUCCESS,
              "torch gave no current stream for ", ToString(device));
  return stream;
}

}  // namespace trtscope::runtime
