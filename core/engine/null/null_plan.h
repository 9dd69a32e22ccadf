#ifndef TRTSCOPE_CORE_ENGINE_NULL_NULL_PLAN_H_
#define TRTSCOPE_CORE_ENGINE_NULL_NULL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/engine/tensor.h"

namespace trtscope::engine {

/// What a null plan says.  The plan is the four octets "null" and a JSON object:
///
///   {"inputs":  [{"name": "x", "dtype": "float32", "shape": [-1, 8],
///                 "min": [1, 8], "opt": [4, 8], "max": [16, 8]}],
///    "outputs": [{"name": "y", "dtype": "float32", "like": 0},
///                {"name": "z", "dtype": "int64", "shape": [-1], "data_dependent": [5]}],
///    "layers": 3, "layer_ns": 1000, "delay_us": 0, "enqueue_error": "out of luck"}
///
/// so that in Python a plan is one line: b"null" + json.dumps({...}).encode().
///
/// Tensors: "name" and "shape" are needed, "dtype" is float32 where it is missing.  An input with
/// -1 in its shape may say the range it admits; without one it admits 0 to 2^31 - 1.  An output
/// takes the shape of input number "like", or its own static "shape", or it is data dependent:
/// then the enqueue gives it the shape listed there.
/// The rest is optional.  "layers" layers of "layer_ns" each are reported to a sink; the work
/// takes "delay_us" on its stream (on the host only); "enqueue_error" fails every enqueue.
struct NullPlan {
  std::vector<TensorInfo> tensors;  // inputs, then outputs
  int input_count = 0;
  std::vector<int> like;            // of each output: the input whose shape it takes, or -1
  std::vector<Dims> actual;         // of each output: its shape after an enqueue, if data dependent
  std::vector<std::string> layers;  // their names
  int64_t layer_ns = 0;
  int64_t delay_us = 0;
  std::string enqueue_error;
};

/// Reads a null plan.  Tensors are placed where `location` says.
Result<NullPlan> ParseNullPlan(std::span<const std::byte> plan, device::DeviceType location);

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_NULL_NULL_PLAN_H_
