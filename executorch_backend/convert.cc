#include "executorch_backend/convert.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace trtscope::executorch_backend {

namespace et = ::executorch::runtime;
using engine::DataType;
using ::executorch::aten::ScalarType;

std::optional<DataType> FromExecuTorch(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return DataType::kFloat32;
    case ScalarType::Half:
      return DataType::kFloat16;
    case ScalarType::BFloat16:
      return DataType::kBFloat16;
    case ScalarType::Double:
      return DataType::kFloat64;
    case ScalarType::Char:
      return DataType::kInt8;
    case ScalarType::Byte:
      return DataType::kUInt8;
    case ScalarType::Short:
      return DataType::kInt16;
    case ScalarType::Int:
      return DataType::kInt32;
    case ScalarType::Long:
      return DataType::kInt64;
    case ScalarType::Bool:
      return DataType::kBool;
    case ScalarType::Float8_e4m3fn:
      return DataType::kFloat8E4M3;
    default:
      return std::nullopt;
  }
}

device::DeviceId FromExecuTorch(et::etensor::Device device) {
  if (device.is_cpu()) return {};
  return {device::DeviceType::kCuda, device.index() < 0 ? 0 : device.index()};
}

et::Error ToError(StatusCode code, Stage stage) {
  switch (code) {
    case StatusCode::kOk:
      return et::Error::Ok;
    case StatusCode::kInvalidArgument:
      return et::Error::InvalidArgument;
    case StatusCode::kNotFound:
      return et::Error::NotFound;
    case StatusCode::kUnsupported:
      return stage == Stage::kInit ? et::Error::DelegateInvalidCompatibility
                                   : et::Error::NotSupported;
    case StatusCode::kFailedPrecondition:
      return et::Error::InvalidState;
    case StatusCode::kDataLoss:
      return et::Error::DelegateInvalidCompatibility;
    case StatusCode::kResourceExhausted:
      return et::Error::MemoryAllocationFailed;
    case StatusCode::kInternal:
      return et::Error::Internal;
  }
  return et::Error::Internal;
}

const char* TypeName(ScalarType type) { return et::toString(type); }

}  // namespace trtscope::executorch_backend
