#ifndef TRTSCOPE_EXECUTORCH_BACKEND_CONVERT_H_
#define TRTSCOPE_EXECUTORCH_BACKEND_CONVERT_H_

// ExecuTorch's types and errors as ours, and back.

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>

#include <optional>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::executorch_backend {

std::optional<engine::DataType> FromExecuTorch(::executorch::aten::ScalarType type);
device::DeviceId FromExecuTorch(::executorch::runtime::etensor::Device device);

/// Where a status came from decides what "unsupported" means: a plan that cannot run here, or a
/// call that cannot be made.
enum class Stage { kInit, kExecute };
::executorch::runtime::Error ToError(StatusCode code, Stage stage);

/// The sizes of a tensor; cut where a Dims ends.
template <typename Sizes>
engine::Dims DimsOf(const Sizes& sizes) {
  engine::Dims dims;
  for (const auto size : sizes) {
    if (dims.rank == engine::Dims::kMaxRank) break;
    dims[dims.rank++] = size;
  }
  return dims;
}

/// Name of the type, such as "Float", for messages.
const char* TypeName(::executorch::aten::ScalarType type);

}  // namespace trtscope::executorch_backend

#endif  // TRTSCOPE_EXECUTORCH_BACKEND_CONVERT_H_
