#ifndef TRTSCOPE_CORE_RUNTIME_EXECUTE_ENGINE_H_
#define TRTSCOPE_CORE_RUNTIME_EXECUTE_ENGINE_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/runtime/torch_engine.h"

namespace trtscope::runtime {

/// torch.ops.tensorrt.execute_engine(Tensor[] inputs, Engine engine) -> Tensor[].
///
/// Inputs and outputs are in the order of the engine's state.  Takes the engine's mutex first,
/// then applies changed profiling settings, then does everything else, so calls on one engine
/// run one after another and calls on different engines run at the same time.  Work goes to the
/// caller's current stream.  Raises c10::Error naming the engine and the tensor.
std::vector<at::Tensor> ExecuteEngine(std::vector<at::Tensor> inputs,
                                      const c10::intrusive_ptr<TorchEngine>& engine);

}  // namespace trtscope::runtime

#endif  // TRTSCOPE_CORE_RUNTIME_EXECUTE_ENGINE_H_
