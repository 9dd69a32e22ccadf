#ifndef TRTSCOPE_CORE_ENGINE_C_API_H_
#define TRTSCOPE_CORE_ENGINE_C_API_H_

// Plans in the C interface of libtrtscope_core.so; core/profiling/trtscope.h says what holds of all
// its functions.

#include <stddef.h>

#include "core/profiling/trtscope.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// What a plan's `size` octets say of it, as JSON: kind, builder_version, hash, size.  Null when
/// they are no plan.
TRTSCOPE_API char* trtscope_plan_info(const void* plan, size_t size);

/// Loads a plan as an engine called `name`, which may take seconds, and lets it go again.  JSON
/// with the keys of trtscope_plan_info, and runtime_version, tensors, profile_count, inspector.  A
/// tensor has name, dtype, shape, is_input, location, shape_tensor, data_dependent, aliased_input
/// and profiles of min, opt and max.  Plans that run on the CPU have no use for `cuda_device`. Null
/// when nothing here runs it.
TRTSCOPE_API char* trtscope_load_plan(const void* plan, size_t size, const char* name,
                                      int cuda_device);

#if defined(__cplusplus)
}
#endif

#endif  // TRTSCOPE_CORE_ENGINE_C_API_H_
