#ifndef TRTSCOPE_CORE_ENGINE_HOST_HOST_MODEL_H_
#define TRTSCOPE_CORE_ENGINE_HOST_HOST_MODEL_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/host/bindings.h"
#include "core/engine/host/host_program.h"
#include "core/engine/host/method_plan.h"
#include "core/engine/tensor.h"

namespace trtscope::engine::host {

/// A host plan, understood: the program, and what its method "forward" takes and gives.  What an
/// engine's contexts share; immutable once loaded.
struct HostModel {
  std::string name;  // "engine 'x'", for messages
  std::unique_ptr<HostProgram> program;
  MethodPlan plan;
  std::vector<TensorInfo> tensors;  // inputs, then outputs
  int input_count = 0;
  struct Io {
    executorch::aten::ScalarType type;
    Dims bound;    // the program's upper bounds
    bool planned;  // its memory is in the method's own plan
  };
  std::vector<Io> io;  // of each tensor
  /// Empty for a program without bindings; `tensors` holds what was taken from them.
  Bindings bindings;

  /// `name` is the engine's.
  static Result<std::unique_ptr<HostModel>> Load(std::span<const std::byte> bytes,
                                                 const std::string& name);
};

}  // namespace trtscope::engine::host

#endif  // TRTSCOPE_CORE_ENGINE_HOST_HOST_MODEL_H_
