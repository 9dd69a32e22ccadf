#ifndef TRTSCOPE_CORE_ENGINE_TENSORRT_IMPLEMENTATION_H_
#define TRTSCOPE_CORE_ENGINE_TENSORRT_IMPLEMENTATION_H_

#include "core/engine/engine.h"

namespace trtscope::engine::tensorrt {

/// The implementation of TensorRT and TensorRT-RTX plans.  Linking this library registers it.
///
/// Load tries the libraries found, best fit first, until one takes the plan.  When none does, the
/// error is one sentence: what built the plan, what was found, what to install or how to rebuild
/// it, with TensorRT's own messages behind it.
Implementation& TensorRtImplementation();

}  // namespace trtscope::engine::tensorrt

#endif  // TRTSCOPE_CORE_ENGINE_TENSORRT_IMPLEMENTATION_H_
