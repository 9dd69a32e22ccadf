#ifndef TRTSCOPE_CORE_ENGINE_NULL_NULL_ENGINE_H_
#define TRTSCOPE_CORE_ENGINE_NULL_NULL_ENGINE_H_

#include "core/engine/engine.h"

namespace trtscope::engine {

/// The engine that does nothing: what is measured around it is the runtime's own cost, and what
/// is tested around it is the runtime's own behaviour.  null_plan.h says what its plans hold.
/// It runs on any device, for it touches no memory.  It registers itself; this is for those who
/// want it without the registry.
Implementation& NullImplementation();

}  // namespace trtscope::engine

#endif  // TRTSCOPE_CORE_ENGINE_NULL_NULL_ENGINE_H_
